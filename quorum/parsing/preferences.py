"""Reads which of two passages a judge's reply prefers.

`mark_passages` first replaces every mention of the passages by ① or ②, so the patterns below contain these signs.
"""

import re
from collections.abc import Sequence
from typing import Any

from quorum.parsing.answers import Parsed, get_first_line, read_object
from quorum.parsing.preference_clauses import (
    PASSAGE_SIGNS,
    Clause,
    find_clauses_about_one_passage,
    mark_passages,
)
from quorum.parsing.wrapping import remove_wrapping

TIE = 2  # 0 and 1 are the places of the two passages

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
WINNER_OF_ARROW = {">": 0, ">>": 0, "≻": 0, "<": 1, "<<": 1, "=": TIE, "==": TIE, "≈": TIE, "~": TIE}
ARROW_BETWEEN_SIGNS = re.compile(r"([①②])\s*(>>?|≻|<<?|==?|≈|~)\s*([①②])")
# Words that call a passage better or worse as a whole, unless an aspect follows ("better structure", "better in terms
# of length").
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
    r"\b(?:more|most|direct(?:ly)?|clear(?:er|est)|close(?:r|st)|full(?:er|est)|great(?:er|est)"
    r"|only(?=\s+[①②])|answers\s+the|answering\s+the|right|correct(?:ly)?|accurate(?:ly)?|better|best|higher)\b",
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
    comparisons. A comparison judges its subject: "1 is better than 2" prefers passage 1. With "less", "worse" or "not"
    it prefers the other passage. Without a preference, or with two that disagree, the reply is malformed, and the value
    is None.

    >>> parse_preference("Passage 1 is less complete than passage 2.").value
    1
    """
    preferences = find_concluding_preferences(EMPHASIS.sub(" ", remove_wrapping(reply)).strip())
    place = preferences.pop() if len(preferences) == 1 else None
    return Parsed(None if place == TIE else place, malformed=place is None)


def find_concluding_preferences(text: str) -> set[int]:
    """The places (0, 1 or `TIE`) that the conclusion of a reply prefers. If no conclusion prefers any, those that the
    whole reply prefers. Several places mean that the reply contradicts itself.
    """
    if number_match := NUMBER_ALONE.fullmatch(text):
        return {0 if number_match[1] else 1}
    json_object = read_object(text[text.find("{") : text.rfind("}") + 1])
    if json_object and (preferences := read_object_preferences(json_object)):
        return preferences
    text = RESTATED_CHOICES.sub(" ", mark_passages(text))
    # Only the last eight labels are read, because a model in a loop writes labels without end.
    last_labels = list(CONCLUSION_LABEL.finditer(text))[:-9:-1]
    for label in last_labels:
        if preferences := find_preferences(get_first_line(text[label.end() : label.end() + 500])):
            return preferences
    return find_preferences(text)


def find_preferences(text: str) -> set[int]:
    """The places (0, 1 or `TIE`) that a text prefers, by the first rule that gives any. Sentences that decide nothing,
    such as questions and "it depends", are not read.

    The rules: the text is only a passage's number or letter ("2", "second", "B"); a sentence begins with a passage's
    name, and no verb follows ("Passage 2, because ..."); "① > ②"; a clause calls one passage better as a whole; the
    comparisons favour one passage; only one passage is named (if the text criticises it, the other is preferred); the
    text calls both equal (`TIE`).
    """
    if number_match := NUMBER_ALONE.fullmatch(text):
        return {0 if number_match[1] else 1}
    sentences = [sentence for sentence in SENTENCE_BREAK.split(text) if not UNDECIDED_WORDS.search(sentence)]
    openings = [LEADING_SIGN.match(sentence) for sentence in sentences if not ARROW_BETWEEN_SIGNS.search(sentence)]
    leading_places = {PASSAGE_SIGNS.index(opening[1]) for opening in openings if opening}
    if len(leading_places) == 1:
        return leading_places
    if preferences := {place for sentence in sentences for place in read_order(sentence)}:
        return preferences
    clauses_by_sentence = list(find_clauses_about_one_passage(sentences))
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
    """The place that a sentence such as "① > ②" prefers, as a set; empty if the sentence has no such order."""
    match = ARROW_BETWEEN_SIGNS.search(sentence)
    if match is None or match[1] == match[3]:
        return set()
    winner = WINNER_OF_ARROW[match[2]]  # 0 is the sign before the arrow
    return {winner if winner == TIE or match[1] == "①" else 1 - winner}


def find_decision(clause: Clause) -> int | None:
    """The place of the passage that a clause calls better as a whole. None if the clause calls no passage better, calls
    both equal, or compares only an aspect.
    """
    word = DECISIVE_WORD.search(clause.text)
    if word is None or BOTH_EQUAL.search(clause.text) or ASPECT_PHRASE.search(clause.text, word.end()):
        return None
    is_negated = bool(NEGATION_WORD.search(clause.text[: word.start()]))
    return clause.place ^ (bool(word["bad"]) != is_negated)


def find_favoured_passages(clauses: Sequence[Clause]) -> set[int]:
    """The places of the passages that the comparisons of a sentence favour.

    Clauses that call both passages equal do not count. Of the others, those that praise or criticise count; if there
    are none, those that compare the passages. Conceded clauses (see `Clause`) count only if no other clause counts.
    """
    unequal_clauses = [clause for clause in clauses if not BOTH_EQUAL.search(clause.text)]
    rating_clauses = [
        clause
        for clause in unequal_clauses
        if any(pattern.search(clause.text) for pattern in (PRAISE_WORD, CRITICISM, NEGATED_FLAW))
    ]
    counted_clauses = rating_clauses or [clause for clause in unequal_clauses if clause.is_comparison]
    main_clauses = [clause for clause in counted_clauses if not clause.is_conceded] or counted_clauses
    return {clause.place ^ is_criticism(clause.text) for clause in main_clauses}


def is_criticism(text: str) -> bool:
    """Whether a text criticises ("less", "not", "fails") and does not negate the criticism."""
    return bool(CRITICISM.search(NEGATED_FLAW.sub(" ", text)))


# If a JSON object has several keys, only those that contain one of these words are read.
VERDICT_KEYS = frozenset(
    ("answer", "choice", "passage", "winner", "preferred", "preference", "better", "result", "verdict", "decision")
)


def read_object_preferences(json_object: dict[str, Any]) -> set[int]:
    """The places (0, 1 or `TIE`) that the values of a JSON object prefer, such as {"winner": "passage 2"}."""
    preferences: set[int] = set()
    for key, content in json_object.items():
        if len(json_object) == 1 or VERDICT_KEYS & set(re.findall(r"[a-z]+", key)):
            preferences |= find_preferences(mark_passages(str(content)))
    return preferences
