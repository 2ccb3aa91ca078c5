"""Splits a reply that compares two passages into clauses, and finds which passage each clause is about."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Every mention of passage 1 or 2 is first replaced by the sign ① or ②, so that the rules deal only with these signs.
PASSAGE_SIGNS = "①②"
PASSAGE_NOUN = (
    r"(?:passage|text|summary|paragraph|option|choice|candidate|document|answer|pasaje|passaggio|(?:text)?abschnitt)"
)
PAIR_OF_PASSAGES = re.compile(
    rf"\b{PASSAGE_NOUN}s?\s?[(\[]?1[)\]]?\s?(and|or|&|,|/|vs\.?|versus)\s?[(\[]?2\b[)\]]?", re.IGNORECASE
)
WORD_AFTER_NUMBER = r"(?:is|was|seems|would|does|has|gives|provides|answers|because|as|since)"
MENTION_END = r"(?=\W*(?:\Z|[.,;]|\b(?:because|as|since|over|to|than|in)\b))"
# The groups with odd numbers match mentions of passage 1, those with even numbers mentions of passage 2.
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
# In "① is better than ②" it replaces "than ②", so that the clause names only the passage that it judges.
COMPARED_SIGN = "≺"
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


def mark_passages(text: str) -> str:
    """The text with ① for every mention of passage 1 and ② for every mention of passage 2.

    >>> mark_passages("The second one is better than P1.")
    ' ②  is better than  ① .'
    """
    text = PAIR_OF_PASSAGES.sub(r" ① \1 ② ", text)
    return PASSAGE_MENTION.sub(lambda match: f" {PASSAGE_SIGNS[((match.lastindex or 1) - 1) % 2]} ", text)


@dataclass(frozen=True)
class Clause:
    """A clause about one of the two passages.

    place: 0 for passage 1, 1 for passage 2. is_conceded: whether the clause stands before "but" or after "although".
    is_comparison: whether the clause's sentence compares one passage with the other.
    """

    text: str
    place: int
    is_conceded: bool
    is_comparison: bool


def find_clauses_about_one_passage(sentences: Sequence[str]) -> Iterator[list[Clause]]:
    """Yield for each sentence those of its clauses that are about exactly one passage: "① is better than ②" is about ①
    only. At the beginning of a clause, "it" means the passage of the previous clause.

    sentences: with signs in place of the mentions of passages (see `mark_passages`).
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
    """The sentence with `COMPARED_SIGN` in place of the passage with which the judged passage is compared.

    Concessions between commas (", although it is short,") are left out.

    >>> mark_comparisons("① is better than ②.")
    '① is better  ≺ .'
    """
    marked_sentence = BEATING_VERB.sub(
        f" better {COMPARED_SIGN} ",
        NOT_AS_GOOD_AS.sub(f" worse {COMPARED_SIGN} ", CONCESSION_INSIDE.sub(" ", sentence)),
    )
    return RELATIVE_CLAUSE.sub(
        rf"\g<before> {COMPARED_SIGN} ", COMPARED_PASSAGE.sub(f" {COMPARED_SIGN} ", marked_sentence)
    )


def split_clauses(sentence: str) -> list[tuple[str, bool]]:
    """(text, is_conceded) of each clause of a sentence; is_conceded as for `Clause`."""
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
