"""Reads which of several lettered candidates a reply chooses."""

import re
from collections.abc import Sequence
from string import ascii_lowercase

from quorum.algorithms.answer_measures import contains_answer
from quorum.algorithms.vote_key import vote_key
from quorum.core.text import is_unknown, normalize
from quorum.parsing.answers import Parsed, clean_answer, parse_short_answer

# A letter at the beginning of a reply, such as "Option (b)" or "B.". The first group is a letter in brackets, the
# second any other letter.
LEADING_LETTER = re.compile(
    r"\A[*_`\"']{0,3}(?:(?i:option|choice|candidate|answer)\s+)?"
    r"(?:[(\[]([A-Za-z])[)\]]|([A-Za-z])(?:[)\].:,;!]|(?=\W*\Z)|(?=\s?[-–—]{1,2}\s?)|(?=\s+[(\"'“]?\w)))[*_`.:,]{0,3}\s*"
)
# Words that stand before a choice in a sentence: "So the correct answer is most likely ...".
LEADING_WORDS = """so thus hence therefore then clearly definitely certainly obviously probably presumably perhaps maybe
    likely more very most i we you one it this that the my would could should must will can think believe guess say
    choose pick select go with be is are of out from these those above given choices? options? answers? candidates?
    correct right best final closest only possible appropriate suitable logical plausible to"""
LEADING_PHRASE = re.compile(
    rf"\A\W{{0,3}}(?:(?:['’](?:d|s)|{'|'.join(LEADING_WORDS.split())})\b[ ,:]{{0,3}})+", re.IGNORECASE
)
# After a letter: another letter, as in "B or C".
SECOND_LETTER = re.compile(
    r"\s*(?:[,/&+]|\bor\b|\band\b|,\s*(?:or|and)\b)\s*[*(\[]{0,3}[A-Za-z](?![\w'’])", re.IGNORECASE
)
# After a letter: words that reject it, as in "B is wrong".
REJECTION = re.compile(
    r"\W*(?:is|are|was|would be|seems|looks|['’]s)?\s*(?:not|n['’]t|wrong|incorrect|false|out|unlikely|impossible)\b",
    re.IGNORECASE,
)
# After a letter: words or an end of the line that show that the letter is a choice: "C because ...", "C is correct".
REASON_WORDS = re.compile(
    r"\W*(?:because|since|as|due|for|given|based|is|would be|seems|must be|\(|[-–—])(?!\w)|\W*\n|\W*\Z", re.IGNORECASE
)
CLOSING_MARK = re.compile(r"[)\].:,;!]")
DOUBT_WORD = re.compile(r"\b(?:either|neither|not sure|unsure|unclear|whether|between|both)\b", re.IGNORECASE)


def parse_choice(reply: str, candidates: Sequence[str], question: str = "") -> Parsed[str]:
    """The candidate that a reply names by its text or letter.

    If the reply says that it does not know, the value is this refusal in the reply's words, which `is_unknown`
    recognises. The choice may stand in a sentence ("most likely C, because ..."). A reply that names no candidate, or
    several, is malformed. Its value is then the short answer in the reply, without a bracketed letter before it.

    question: the question that was asked. If the reply goes on with another question, the rest is ignored.

    >>> parse_choice("(b)", ["Oslo", "Bergen"]).value
    'Bergen'
    >>> parse_choice("Rome", ["Oslo", "Bergen"]).malformed
    True
    """
    short_answer = parse_short_answer(reply, question)
    if is_unknown(short_answer.value):
        return short_answer
    has_several = has_several_letters(short_answer.value)
    chosen_candidate = None if has_several else find_leading_choice(short_answer.value, candidates)
    if chosen_candidate is None and not has_several and not DOUBT_WORD.search(short_answer.value):
        phrase = LEADING_PHRASE.match(short_answer.value)
        text_after_phrase = clean_answer(short_answer.value[phrase.end() :]) if phrase else ""
        chosen_candidate = (
            find_leading_choice(text_after_phrase, candidates) if text_after_phrase else None
        ) or find_concluding_choice(short_answer.value, candidates)
    if chosen_candidate is not None:
        return Parsed(chosen_candidate)
    letter = LEADING_LETTER.match(short_answer.value)
    text_after_letter = clean_answer(short_answer.value[letter.end() :]) if letter and letter[1] else ""
    return Parsed(text_after_letter or short_answer.value, malformed=True)


# Where a list of letters ends, because a reason or another clause begins.
CLAUSE_BREAK = re.compile(
    r"\b(?:because|since|as|due|for|given|so|but|not|while|whereas|rather|than)\b|[.;]\s", re.IGNORECASE
)
# A letter in a list of letters: at the beginning of the text, or after a comma, "and" or "or".
LISTED_LETTER = re.compile(
    r"(?:\A|[,;/]\s*(?:and|or)?\s*|\b(?:and|or|&)\s+)[*_]{0,2}[(\[]?([A-Z])[)\]]?[*_]{0,2}(?=\W|\Z)"
)


def has_several_letters(text: str) -> bool:
    """Whether the first clause of a text lists several letters, as in "C (tin), B (copper) and D"."""
    clause_break = CLAUSE_BREAK.search(text)
    return len(set(LISTED_LETTER.findall(text[: clause_break.start() if clause_break else len(text)]))) > 1


def find_leading_choice(text: str, candidates: Sequence[str]) -> str | None:
    """The candidate that a text begins with; None if it begins with none.

    A text begins with a candidate if it is only the candidate's words or letter, or if after the letter come the
    candidate's words or a reason ("C because ..."). If exactly the words of another candidate follow the letter, that
    candidate is returned.
    """
    letter = LEADING_LETTER.match(text)
    text_after = clean_answer(text[letter.end() :]) if letter else ""
    # The whole text is compared first, because an answer can begin as if it had a letter: "A. A. Milne".
    for words in (text, text_after):
        key = vote_key(words)
        named_candidate = next((candidate for candidate in candidates if key and vote_key(candidate) == key), None)
        if named_candidate is not None:
            return named_candidate
    rank = ascii_lowercase.index((letter[1] or letter[2]).lower()) if letter else len(candidates)
    if letter is None or rank >= len(candidates):
        return None
    text_from_closing_mark = text[letter.end(letter.lastindex or 0) :].lstrip("*_`\"'")
    uncleaned_text_after = text_from_closing_mark.lstrip(")]*_`\"'")
    if not text_after or is_candidate_with_explanation(text_after, candidates[rank]):
        return candidates[rank]
    if SECOND_LETTER.match(uncleaned_text_after) or REJECTION.match(uncleaned_text_after):
        return None
    has_mark = letter[1] is not None or CLOSING_MARK.match(text_from_closing_mark) is not None
    is_choice = (has_mark and contains_answer(text_after, [candidates[rank]])) or (
        REASON_WORDS.match(uncleaned_text_after) is not None
        and (letter[1] is not None or text[letter.start(2)].isupper())
    )
    return candidates[rank] if is_choice else None


def is_candidate_with_explanation(text: str, candidate: str) -> bool:
    """Whether a text begins with the candidate's words, in quotes or not, whatever follows them."""
    words, candidate_words = normalize(text).split(), normalize(candidate).split()
    return bool(candidate_words) and words[: len(candidate_words)] == candidate_words


# The group "said" is a letter after words such as "the answer is", "so" or "it is"; the group "closing" is a letter in
# brackets at the end of the text: "tin (C)".
CONCLUDING_CHOICE = re.compile(
    r"(?:\b(?:answer|option|choice)\s+(?:is|would be|must be|should be)\s*:?\s*|\b(?:so|therefore|thus|hence),?\s+"
    r"|\b(?:it|that)(?:\s+is|['’]s)\s+)(?:(?:option|choice|most likely|probably|likely)\s+)?"
    r"[*_\"'(\[]{0,3}(?P<said>[A-Z])[*_\"')\]]{0,3}\s*(?:[.,:;!(]|\Z)"
    r"|\((?P<closing>[A-Za-z])\)\W*\Z"
)
BRACKETED_LETTER = re.compile(r"\(([A-Za-z])\)")


def find_concluding_choice(text: str, candidates: Sequence[str]) -> str | None:
    """The candidate whose letter stands after words such as "the answer is", or in brackets at the end of the text.

    None if different letters stand there. If a letter in brackets ends the text, all other letters in brackets count,
    too.
    """
    matches = list(CONCLUDING_CHOICE.finditer(text))
    letters = {str(match["said"] or match["closing"]).lower() for match in matches}
    if any(match["closing"] for match in matches):
        letters |= {letter.lower() for letter in BRACKETED_LETTER.findall(text)}
    if len(letters) != 1:
        return None
    rank = ascii_lowercase.index(letters.pop())
    return candidates[rank] if rank < len(candidates) else None
