"""Decides whether an answer says that there is no answer.

The patterns of `quorum.core.refusal_patterns` match the beginning of the first line, in lower case and with
contractions written out.
"""

import re

from quorum.core.refusal_patterns import CONTRAST, ECHO, LEAD_IN, NO_ANSWER, REFUSAL, SAYS_UNKNOWN
from quorum.core.thinking import cut_own_turn

UNKNOWN = "unknown"

WRAPPING = " \t\n*_`\"'“”‘’«»()[]{}<>#-–—•"
STOPS = ".,;:?!…"

CONTRACTED = {"ve": "have", "d": "would", "re": "are"}
SENTENCE = re.compile(r"[.!?] +")
LONGEST = 1000  # characters that are read


def is_unknown(answer: str) -> bool:
    """Whether an answer is empty, says "unknown" (alone or with a reason), or refuses in a usual wording.

    Pass the raw text, not a normalised one. Titles are answers: "Unknown Pleasures", "I Don't Know How She Does It".
    So is what follows a refusal after "however" or "but", unless it refuses again, advises, or tells what the passages
    say instead.

    >>> import quorum
    >>> quorum.is_unknown("I cannot tell from the passages."), quorum.is_unknown("Unknown Pleasures")
    (True, False)
    """
    own = cut_own_turn(answer[: 9 * LONGEST]).lstrip(WRAPPING + STOPS)[:LONGEST]
    line = own.partition("\n")[0]
    text = spell_out(line)
    if is_refusal(text):
        return is_empty(text) or not (has_late_answer(spell_out(own)) or is_name(line, text))
    return False


def is_empty(text: str) -> bool:
    return not text.strip(WRAPPING + STOPS)


def remove_lead_ins(text: str) -> str:
    while lead := (LEAD_IN.match(text) or ECHO.match(text)):
        text = text[lead.end() :]
    return text


def is_refusal(text: str) -> bool:
    """Whether a text, spelled out, begins with a refusal, or is nothing."""
    text = remove_lead_ins(text)
    return is_empty(text) or bool(SAYS_UNKNOWN.match(text) or REFUSAL.match(text))


def is_name(line: str, text: str) -> bool:
    """Whether what sounds like a refusal is a name that goes on after it: "Not Mentioned in Dispatches"."""
    text = remove_lead_ins(text)
    refusal = None if SAYS_UNKNOWN.match(text) else REFUSAL.match(text)
    return refusal is not None and not is_empty(text[refusal.end() :]) and is_title(line.strip(WRAPPING))


def has_late_answer(text: str) -> bool:
    """Whether a refusal goes on to an answer: "I do not have recent data. However, it was released in 2018"."""
    text = remove_lead_ins(text)
    refusal = SAYS_UNKNOWN.match(text) or REFUSAL.match(text)
    if refusal is None or text.startswith(UNKNOWN):
        return False
    own, *following = SENTENCE.split(text[refusal.end() :], maxsplit=2)
    for sentence, place in ((own, CONTRAST.search), *((one, CONTRAST.match) for one in following[:1])):
        if contrast := place(sentence):
            said = sentence[contrast.end() :]
            if len(said.split()) > 2 and not is_refusal(said) and not NO_ANSWER.match(remove_lead_ins(said)):
                return True
    return False


def spell_out(line: str) -> str:
    """The line in lower case, with contractions written out, without markdown or quotes around it."""
    text = " ".join(line.replace("’", "'").lower().split()).strip(WRAPPING)
    text = re.sub(r"\bcannot\b|\bcan't\b", "can not", text)
    text = re.sub(r"n't\b", " not", text)
    text = re.sub(r"\b(i|we|you|they)'(ve|d|re)\b", lambda found: f"{found[1]} {CONTRACTED[found[2]]}", text)
    return re.sub(r"\b(it|there|that|what)'s\b", r"\1 is", re.sub(r"\bi'm\b", "i am", text))


def is_title(text: str) -> bool:
    """Whether every word of more than three letters is capitalised, but the text is not all in capitals."""
    words = [word for word in re.findall(r"[^\W\d_][\w'’]*", text) if len(word) > 3]
    return not text.isupper() and bool(words) and all(word[0].isupper() for word in words)
