"""Reads which of two passages a judge's reply prefers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from quorum.parsing.answers import Parsed, get_first_line, read_object
from quorum.parsing.wrapping import remove_wrapping

TIE = 2  # 0 and 1 are the places of the two passages

# Every way to name a passage is replaced by one sign, so that the rules below only deal with signs.
PASSAGE_SIGNS = "①②"
PASSAGE_NOUN = (
    r"(?:passage|text|summary|paragraph|option|choice|candidate|document|answer|pasaje|passaggio|(?:text)?abschnitt)"
)
PAIR_OF_PASSAGES = re.compile(
    rf"\b{PASSAGE_NOUN}s?\s?[(\[]?1[)\]]?\s?(and|or|&|,|/|vs\.?|versus)\s?[(\[]?2\b[)\]]?", re.IGNORECASE
)
WORD_AFTER_NUMBER = r"(?:is|was|seems|would|does|has|gives|provides|answers|because|as|since)"
MENTION_END = r"(?=\W*(?:\Z|[.,;]|\b(?:because|as|since|over|to|than|in)\b))"
PASSAGE_MENTION = re.compile(
    rf"\b{PASSAGE_NOUN}[\s_]{{0,2}}(?:#|no\.?|number)?\s?[(\[\"'*_]{{0,3}}(?:(1|one|a)|(2|two|b))\b[)\]\"']{{0,2}}"
    rf"|(?:\bthe\s+)?\b(?:(first|1st)|(second|2nd))\s+(?:one\b|{PASSAGE_NOUN}\b)"
    r"|(?:\bthe\s+)(?:(former|first)|(latter|second))\b(?!\s+(?:half|part|sentence|time|place|of))"
    r"|[\[(](?:(1)|(2))[)\]]|\bP(?:(1)|(2))\b"
    rf"|(?:\A|(?<=[.!?\n]\s))\W{{0,3}}(?:(1)|(2))(?=\s+{WORD_AFTER_NUMBER}\b)"
    rf"|(?<=than\s|over\s|pick\s|with\s)(?:(1)|(2)){MENTION_END}|(?<=prefer\s|choose\s|select\s)(?:(1)|(2)){MENTION_END}"
    r"|\A(?:(1)|(2))(?=\.\s+\D)(?![^\0]*\n\s*2[.)])",
    re.IGNORECASE,
)
EMPHASIS = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")  # underscores that are not part of a word
NUMBER_ALONE = re.compile(r"[\W_]*(?:no\.?\s*)?(?:(1|1st|one|first|a)|(2|2nd|two|second|b))[\W_]*", re.IGNORECASE)
CONCLUSION_LABEL = re.compile(
    r"\b(?:answer|verdict|conclusion|judge?ment|decision|choice|winner|output|response|prefer(?:red|ence))"
    r"[*_\"'`]{0,3}[ \t]*"
    r"(?:[:：=]|\bis\b[ \t]*[:：]?)"
    r"|(?:^|[.,;!?]\s+)(?:therefore|thus|hence|so|overall|consequently|in\s+(?:conclusion|summary))\b"
    r"|\\boxed\s?\{|<answer>",
    re.IGNORECASE | re.MULTILINE,
)
RESTATED_CHOICES = re.compile(
    r"\bchoices\s*:\s*\[[^\]]*\]\.?|[(\[]\s?[①②]\s{0,2}(?:or|,|/)\s{0,2}[①②]\s?[)\]]?", re.IGNORECASE
)
LEADING_SIGN = re.compile(
    r"[\W_]*([①②])[*_\"'`)\]]*(?:\s*(?:\Z|[.!;]|[(–—]|-+\s|,?\s*\b(?:because|since|as)\b|,\s*(?:not|with)\b))",
    re.IGNORECASE,
)
SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
UNDECIDED_WORDS = re.compile(
    r"\?\W*\Z|\b(?:whether|unclear|unsure|not sure|depends|hard to (?:say|tell|decide)|if [①②])\b"
    r"|\b(?:can ?not|can['’]t|could not|unable to|impossible to) (?:\w+ )?(?:decide|say|tell|determine|judge|choose)\b",
    re.IGNORECASE,
)
COMPARED_SIGN = "≺"  # stands for the passage with which the other is compared
BEATING_VERB = re.compile(
    r"\b(?:outperform(?:s|ed)?|beats?|surpass(?:es)?|exceeds?|excels?(?: over)?|edges? out|outshines?|outdoes|trumps)"
    r"\s+[①②]",
    re.IGNORECASE,
)
NOT_AS_GOOD_AS = re.compile(r"(?:\bnot|n['’]t)\s+(?:\w+\s+)?(?:as|so)\s+(?:\w+\s+){1,4}?as\s+[①②]", re.IGNORECASE)
CONCESSION_INSIDE = re.compile(
    r",\s*(?:while|although|though|albeit|even\s+if|if|despite)\b[^,.;①②]{1,150},", re.IGNORECASE
)
COMPARED_PASSAGE = re.compile(
    r"\b(?:than|over|compared\s+(?:to|with)|in\s+(?:comparison|contrast)\s+(?:to|with)|rather\s+than|instead\s+of|unlike"
    r"|as\s+opposed\s+to|versus|between|among|of|not(?=\s+[①②]\s*\W*\Z)|(?<=prefer\s[①②]\s)to|(?<=prefer\s\s[①②]\s\s)to"
    r"|(?<=preferred\s)to|(?<=preferable\s)to|(?<=superior\s)to|(?<=inferior\s)to|contrary\s+to\s+what)"
    r"\s+(?:that\s+of\s+)?[①②](?:\s*(?:and|or)\s*[①②])?(?:\s+(?:does|do|did|is|has|claims|says))?\s?,?",
    re.IGNORECASE,
)
RELATIVE_CLAUSE = re.compile(
    r"(?P<before>[①②][^①②]{1,300}?),?\s*\b(?:that|which|what|whom?)\s+(?:\w+\s+)?[①②](?:[^,.;:①②≺]*)", re.IGNORECASE
)
WINNER_OF_ARROW = {">": 0, ">>": 0, "≻": 0, "<": 1, "<<": 1, "=": TIE, "==": TIE, "≈": TIE, "~": TIE}
ARROW_BETWEEN_SIGNS = re.compile(r"([①②])\s*(>>?|≻|<<?|==?|≈|~)\s*([①②])")
CLAUSE_BREAK = re.compile(
    r"[,;]?\s*\b(?P<word>while|whereas|but|although|though|even though|however|because|since|yet|so"
    r"|as(?=\s+(?:[①②]|it\b|the\b)))\b"
    r"|[;:]|,\s*(?:and\b|(?=[①②]|I\s))",
    re.IGNORECASE,
)
CONCEDING_WORDS = frozenset(("while", "although", "though", "even though"))
CONTRAST_WORDS = frozenset(("but", "however", "yet"))
LEADING_CONCESSION = re.compile(
    r"\W*(?:while|although|though|even\s+(?:if|though)|despite|whereas)\b([^,.;]{1,300}),\s*", re.IGNORECASE
)
LEADING_PRONOUN = re.compile(r"\W*(?:and\s+)?(?:it|this|which)\b", re.IGNORECASE)
# Words that call a passage better as a whole, unless an aspect follows ("better structure", "better in terms of
# length").
DECISIVE_WORD = re.compile(
    r"\b(?:(?P<good>better(?!\s+(?!than|job|choice|one|option|summary|answer|response|because|as|since|of|overall|in|at|for"
    r"|and|by|due|here|suited|when|with|to)\w)|best|superior|prefer(?:s|red|able)?|preference|choose|choosing|chosen|pick"
    r"|select(?!ed|ive)|opt\s+for|go(?:ing)?\s+with|lean(?:ing|s)?\s+(?:more\s+)?towards?|favou?r(?:ed|s)?|winner|wins?"
    r"|strong(?:er|est)|rank\w*\s+(?:higher|first)|the\s+one|it\s+is\s+[①②]\s+that)"
    r"|(?P<bad>worse|worst|inferior|weak(?:er|est)|rank\w*\s+(?:lower|last)))\b",
    re.IGNORECASE,
)
ASPECT_PHRASE = re.compile(
    r"\b(?:in\s+(?:terms|regards?|the\s+sense)\s+of|with\s+(?:respect|regards?)\s+to|when\s+it\s+comes\s+to|as\s+far\s+as"
    r"|in\s+(?:this|that|some|one)\s+(?:respect|regard|aspect|way)s?)\b",
    re.IGNORECASE,
)
NEGATION_WORD = re.compile(r"\b(?:not|never|no|cannot|hardly|nor|neither)\b|n['’]t\b", re.IGNORECASE)
PRAISE_WORD = re.compile(
    r"\b(?:more|most|direct(?:ly)?|clear(?:er|est)|close(?:r|st)|full(?:er|est)|great(?:er|est)|only(?=\s+[①②])|answers\s+the|answering\s+the|right|correct(?:ly)?|accurate(?:ly)?"
    r"|better|best|higher)\b",
    re.IGNORECASE,
)
FLAW_WORD = (
    r"(?:less|least|lower|worse|worst|inferior|weak(?:er|est)?|irrelevan\w+|uninformative|unrelated|incorrect(?:ly)?|inaccura\w+"
    r"|wrong(?:ly)?|mistakes?|mistaken|errors?|misleading|fail(?:s|ed|ing)?|lack(?:s|ed|ing)?|omits?|omitted|miss(?:es|ing)"
    r"|leaves?\s+out|ignores?|invents?|vague|redundant|repetitive|off[- ]topic|misunderst\w+|misses|hallucinat\w+"
    r"|more\s+(?:verbose|general|generic|vague|wordy|repetitive|ambiguous|confusing|superficial|limited|misleading))"
)
CRITICISM = re.compile(rf"\b(?:{FLAW_WORD}|not|cannot|never|no|nothing|without|neither|nor)\b|n['’]t\b", re.IGNORECASE)
NEGATED_FLAW = re.compile(
    rf"(?:\b(?:not|never|no|without|avoids?|avoiding|free\s+(?:of|from))\b|n['’]t\b)\s+(?:\w+\s+){{0,2}}?{FLAW_WORD}\b"
    rf"|\bless\s+{FLAW_WORD}\b",
    re.IGNORECASE,
)
BOTH_EQUAL = re.compile(
    r"\bboth(?=\W*\Z|\s+(?:of|are|were|have|do|does|give|provide|answer|mention|contain|say|cover|address|equal\w*"
    r"|[①②]|passages|summaries|texts|options|candidates|documents|answers|paragraphs)(?!\w))"
    r"|\b(?:equal(?:ly)?|same|tied?|neither|similar(?:ly)?|identical|indistinguishable|as\s+\w+\s+as"
    r"|no\s+(?:(?:clear\s+)?difference|better|worse|more))\b",
    re.IGNORECASE,
)


def parse_preference(reply: str) -> Parsed[int | None]:
    """The place, 0 or 1, of the passage that a reply prefers; None if it calls them equal.

    The reply may be "Passage 2", "2", "the second", JSON, a text after the last "Answer:" or "therefore", or
    comparisons; "less", "than" and "not" reverse these. Without a preference, or with two that disagree, the reply is
    malformed, and the value is None.

    >>> parse_preference("Passage 1 is less complete than passage 2.").value
    1
    """
    conclusion = find_concluding_preferences(EMPHASIS.sub(" ", remove_wrapping(reply)).strip())
    place = conclusion.pop() if len(conclusion) == 1 else None
    return Parsed(None if place == TIE else place, malformed=place is None)


def find_concluding_preferences(text: str) -> set[int]:
    """The preferences in the conclusion of a reply."""
    if alone := NUMBER_ALONE.fullmatch(text):
        return {0 if alone[1] else 1}
    value = read_object(text[text.find("{") : text.rfind("}") + 1])
    if value and (preferences := read_object_preferences(value)):
        return preferences
    text = RESTATED_CHOICES.sub(" ", mark_passages(text))
    # Only the last eight labels are read, because a model in a loop writes labels without end.
    last_labels = list(CONCLUSION_LABEL.finditer(text))[:-9:-1]
    for label in last_labels:
        if preferences := find_preferences(get_first_line(text[label.end() : label.end() + 500])):
            return preferences
    return find_preferences(text)


def mark_passages(text: str) -> str:
    """The text with ① and ② for the passages, however it names them."""
    text = PAIR_OF_PASSAGES.sub(r" ① \1 ② ", text)
    return PASSAGE_MENTION.sub(lambda match: f" {PASSAGE_SIGNS[((match.lastindex or 1) - 1) % 2]} ", text)


def find_preferences(text: str) -> set[int]:
    """The preferences in a text, by the first rule that gives one.

    The rules: the text is only a passage's name; a sentence begins with a passage's name alone; "1 > 2"; a clause calls
    one passage better as a whole; the comparisons favour one passage; only one passage is named.
    """
    if alone := NUMBER_ALONE.fullmatch(text):
        return {0 if alone[1] else 1}
    sentences = [sentence for sentence in SENTENCE_BREAK.split(text) if not UNDECIDED_WORDS.search(sentence)]
    openings = [LEADING_SIGN.match(sentence) for sentence in sentences if not ARROW_BETWEEN_SIGNS.search(sentence)]
    leading = {PASSAGE_SIGNS.index(opening[1]) for opening in openings if opening}
    if len(leading) == 1:
        return leading
    if preferences := {place for sentence in sentences for place in read_order(sentence)}:
        return preferences
    clauses_by_sentence = list(split_judged_clauses(sentences))
    if preferences := {
        place for clauses in clauses_by_sentence for clause in clauses if (place := find_decision(clause)) is not None
    }:
        return preferences
    if preferences := {place for clauses in clauses_by_sentence for place in find_favoured_passages(clauses)}:
        return preferences
    joined_sentences = " ".join(sentences)
    if len(named_signs := set(re.findall("[①②]", joined_sentences))) == 1:
        judged_text = " ".join(clause.text for clauses in clauses_by_sentence for clause in clauses)
        return {PASSAGE_SIGNS.index(named_signs.pop()) ^ is_criticism(judged_text or joined_sentences)}
    return {TIE} if BOTH_EQUAL.search(joined_sentences) else set()


def read_order(sentence: str) -> set[int]:
    """The preference of "① > ②"."""
    match = ARROW_BETWEEN_SIGNS.search(sentence)
    if match is None or match[1] == match[3]:
        return set()
    winner = WINNER_OF_ARROW[match[2]]  # 0 is the sign before the arrow
    return {winner if winner == TIE or match[1] == "①" else 1 - winner}


@dataclass(frozen=True)
class Clause:
    """A clause about the passage at `place`.

    is_conceded: it stands before "but" or after "although". is_comparison: its sentence compares the passage with the
    other.
    """

    text: str
    place: int
    is_conceded: bool
    is_comparison: bool


def split_judged_clauses(sentences: Sequence[str]) -> Iterator[list[Clause]]:
    """Yield for each sentence those of its clauses that name exactly one passage. "It" means the passage of the
    previous clause.
    """
    last_place: int | None = None
    for sentence in sentences:
        clauses: list[Clause] = []
        marked_sentence = mark_comparisons(sentence)
        for text, is_conceded in split_clauses(marked_sentence):
            named_signs = set(re.findall("[①②]", text))
            if not named_signs and last_place is not None and LEADING_PRONOUN.match(text):
                named_signs = {PASSAGE_SIGNS[last_place]}
            if len(named_signs) == 1:
                last_place = PASSAGE_SIGNS.index(named_signs.pop())
                clauses.append(Clause(text, last_place, is_conceded, COMPARED_SIGN in marked_sentence))
            elif named_signs:
                last_place = None
        yield clauses


def mark_comparisons(sentence: str) -> str:
    """The sentence without asides, with `COMPARED_SIGN` for the passage with which the other is compared."""
    marked_sentence = BEATING_VERB.sub(
        f" better {COMPARED_SIGN} ",
        NOT_AS_GOOD_AS.sub(f" worse {COMPARED_SIGN} ", CONCESSION_INSIDE.sub(" ", sentence)),
    )
    return RELATIVE_CLAUSE.sub(
        rf"\g<before> {COMPARED_SIGN} ", COMPARED_PASSAGE.sub(f" {COMPARED_SIGN} ", marked_sentence)
    )


def split_clauses(sentence: str) -> list[tuple[str, bool]]:
    """The clauses of a sentence, each with whether it is conceded."""
    if opening := LEADING_CONCESSION.match(sentence):
        return [(opening[1], True), *split_clauses(sentence[opening.end() :])]
    clauses: list[tuple[str, bool]] = []
    begin, is_conceded = 0, False
    for clause_break in CLAUSE_BREAK.finditer(sentence):
        clauses.append((sentence[begin : clause_break.start()], is_conceded))
        word = (clause_break["word"] or "").lower()
        if word in CONTRAST_WORDS:
            clauses = [(text, True) for text, _ in clauses]
        begin, is_conceded = clause_break.end(), word in CONCEDING_WORDS
    return [*clauses, (sentence[begin:], is_conceded)]


def find_decision(clause: Clause) -> int | None:
    """The passage that a clause calls better as a whole; None if it compares an aspect or nothing."""
    word = DECISIVE_WORD.search(clause.text)
    if word is None or BOTH_EQUAL.search(clause.text) or ASPECT_PHRASE.search(clause.text, word.end()):
        return None
    is_negated = bool(NEGATION_WORD.search(clause.text[: word.start()]))
    return clause.place ^ (bool(word["bad"]) != is_negated)


def find_favoured_passages(clauses: Sequence[Clause]) -> set[int]:
    """The passages that the comparisons of a sentence favour. Conceded clauses count only if there are no others."""
    unequal = [clause for clause in clauses if not BOTH_EQUAL.search(clause.text)]
    rating_clauses = [
        item for item in unequal if any(words.search(item.text) for words in (PRAISE_WORD, CRITICISM, NEGATED_FLAW))
    ] or unequal
    counted_clauses = [clause for clause in rating_clauses if rating_clauses is not unequal or clause.is_comparison]
    main_clauses = [clause for clause in counted_clauses if not clause.is_conceded] or counted_clauses
    return {clause.place ^ is_criticism(clause.text) for clause in main_clauses}


def is_criticism(text: str) -> bool:
    """Whether a text criticises ("less", "not", "fails") and does not negate the criticism."""
    return bool(CRITICISM.search(NEGATED_FLAW.sub(" ", text)))


VERDICT_KEYS = frozenset(
    ("answer", "choice", "passage", "winner", "preferred", "preference", "better", "result", "verdict", "decision")
)


def read_object_preferences(value: dict[str, Any]) -> set[int]:
    """The preferences of a JSON object."""
    preferences: set[int] = set()
    for key, content in value.items():
        if len(value) == 1 or VERDICT_KEYS & set(re.findall(r"[a-z]+", key)):
            preferences |= find_preferences(mark_passages(str(content)))
    return preferences
