"""Reads which of several lettered candidates a reply chooses."""

import re
from collections.abc import Sequence
from string import ascii_lowercase

from quorum.algorithms.vote_key import vote_key
from quorum.core.text import contains_answer, is_unknown, normalize
from quorum.parsing.answers import Parsed, clean_answer, parse_short_answer

LEADING_LETTER = re.compile(
    r"\A[*_`\"']{0,3}(?:(?i:option|choice|candidate|answer)\s+)?"
    r"(?:[(\[]([A-Za-z])[)\]]|([A-Za-z])(?:[)\].:,;!]|(?=\W*\Z)|(?=\s?[-–—]{1,2}\s?)|(?=\s+[(\"'“]?\w)))[*_`.:,]{0,3}\s*"
)
# Words before a choice in a sentence: "So the correct answer is most likely ...".
LEADING_WORDS = """so thus hence therefore then clearly definitely certainly obviously probably presumably perhaps maybe
    likely more very most i we you one it this that the my would could should must will can think believe guess say
    choose pick select go with be is are of out from these those above given choices? options? answers? candidates?
    correct right best final closest only possible appropriate suitable logical plausible to"""
LEADING_PHRASE = re.compile(
    rf"\A\W{{0,3}}(?:(?:['’](?:d|s)|{'|'.join(LEADING_WORDS.split())})\b[ ,:]{{0,3}})+", re.IGNORECASE
)
# A letter followed by another letter; words that reject the letter before them.
SECOND_LETTER = re.compile(
    r"\s*(?:[,/&+]|\bor\b|\band\b|,\s*(?:or|and)\b)\s*[*(\[]{0,3}[A-Za-z](?![\w'’])", re.IGNORECASE
)
REJECTION = re.compile(
    r"\W*(?:is|are|was|would be|seems|looks|['’]s)?\s*(?:not|n['’]t|wrong|incorrect|false|out|unlikely|impossible)\b",
    re.IGNORECASE,
)
# Words after a bare letter that make it a choice: "C because ...", "C is correct".
REASON_WORDS = re.compile(
    r"\W*(?:because|since|as|due|for|given|based|is|would be|seems|must be|\(|[-–—])(?!\w)|\W*\n|\W*\Z", re.IGNORECASE
)
CLOSING_MARK = re.compile(r"[)\].:,;!]")
DOUBT_WORD = re.compile(r"\b(?:either|neither|not sure|unsure|unclear|whether|between|both)\b", re.IGNORECASE)


def parse_choice(reply: str, candidates: Sequence[str], question: str = "") -> Parsed[str]:
    """The candidate that a reply names by its text or letter.

    If the reply says that it does not know, the value is this refusal in its own words, which `is_unknown` recognises.
    The choice may stand in a sentence ("most likely C, because ..."). A reply that names no candidate, or several, is
    malformed, and the value is the reply's own answer.

    >>> parse_choice("(b)", ["Oslo", "Bergen"]).value
    'Bergen'
    """
    short_answer = parse_short_answer(reply, question)
    if is_unknown(short_answer.value):
        return short_answer
    several = names_several(short_answer.value)
    chosen_candidate = None if several else find_leading_choice(short_answer.value, candidates)
    if chosen_candidate is None and not several and not DOUBT_WORD.search(short_answer.value):
        lead = LEADING_PHRASE.match(short_answer.value)
        text = clean_answer(short_answer.value[lead.end() :]) if lead else ""
        chosen_candidate = (find_leading_choice(text, candidates) if text else None) or find_concluding_choice(
            short_answer.value, candidates
        )
    if chosen_candidate is not None:
        return Parsed(chosen_candidate)
    letter = LEADING_LETTER.match(short_answer.value)
    rest = clean_answer(short_answer.value[letter.end() :]) if letter and letter[1] else ""
    return Parsed(rest or short_answer.value, malformed=True)


CLAUSE_BREAK = re.compile(
    r"\b(?:because|since|as|due|for|given|so|but|not|while|whereas|rather|than)\b|[.;]\s", re.IGNORECASE
)
LISTED_LETTER = re.compile(
    r"(?:\A|[,;/]\s*(?:and|or)?\s*|\b(?:and|or|&)\s+)[*_]{0,2}[(\[]?([A-Z])[)\]]?[*_]{0,2}(?=\W|\Z)"
)


def names_several(text: str) -> bool:
    """Whether a text lists several letters before it gives a reason: "C (tin), B (copper) and D"."""
    reason = CLAUSE_BREAK.search(text)
    return len(set(LISTED_LETTER.findall(text[: reason.start() if reason else len(text)]))) > 1


def find_leading_choice(text: str, candidates: Sequence[str]) -> str | None:
    """The candidate that a text begins with: its words, its letter, or the letter with words or a reason."""
    letter = LEADING_LETTER.match(text)
    text_after = clean_answer(text[letter.end() :]) if letter else ""
    for words in (text, text_after):  # an answer may look lettered: "A. A. Milne"
        key = vote_key(words)
        named_candidate = next((candidate for candidate in candidates if key and vote_key(candidate) == key), None)
        if named_candidate is not None:
            return named_candidate
    rank = ascii_lowercase.index((letter[1] or letter[2]).lower()) if letter else len(candidates)
    if letter is None or rank >= len(candidates):
        return None
    after = text[letter.end(letter.lastindex or 0) :].lstrip(")]*_`\"'")
    if not text_after or is_candidate_with_explanation(text_after, candidates[rank]):
        return candidates[rank]
    if SECOND_LETTER.match(after) or REJECTION.match(after):
        return None
    is_marked = letter[1] is not None or CLOSING_MARK.match(after) is not None
    is_choice = (is_marked and contains_answer(text_after, [candidates[rank]])) or (
        REASON_WORDS.match(after) is not None and (letter[1] is not None or text[letter.start(2)].isupper())
    )
    return candidates[rank] if is_choice else None


def is_candidate_with_explanation(text: str, candidate: str) -> bool:
    """Whether a text begins with the candidate's words. They may be in quotes, and an explanation may follow."""
    words, candidate_words = normalize(text).split(), normalize(candidate).split()
    return bool(candidate_words) and words[: len(candidate_words)] == candidate_words


# A letter after words such as "the answer is", "so" or "it is", and a letter in brackets at the end of the text: "tin
# (C)".
LAST_CHOICE = re.compile(
    r"(?:\b(?:answer|option|choice)\s+(?:is|would be|must be|should be)\s*:?\s*|\b(?:so|therefore|thus|hence),?\s+"
    r"|\b(?:it|that)(?:\s+is|['’]s)\s+)(?:(?:option|choice|most likely|probably|likely)\s+)?"
    r"[*_\"'(\[]{0,3}(?P<said>[A-Z])[*_\"')\]]{0,3}\s*(?:[.,:;!(]|\Z)"
    r"|\((?P<closing>[A-Za-z])\)\W*\Z"
)
BRACKETED_LETTER = re.compile(r"\(([A-Za-z])\)")


def find_concluding_choice(text: str, candidates: Sequence[str]) -> str | None:
    """The candidate whose letter concludes a sentence; None if several letters do, or several stand in brackets."""
    marks = list(LAST_CHOICE.finditer(text))
    letters = {str(mark["said"] or mark["closing"]).lower() for mark in marks}
    if any(mark["closing"] for mark in marks):
        letters |= {letter.lower() for letter in BRACKETED_LETTER.findall(text)}
    if len(letters) != 1:
        return None
    rank = ascii_lowercase.index(letters.pop())
    return candidates[rank] if rank < len(candidates) else None
