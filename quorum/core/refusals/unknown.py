"""Decides whether an answer says that there is no answer.

The patterns of `refusal_patterns` are compared with the beginning of the answer's first line, in lower case and with
contractions written out.
"""

import re

from quorum.core.refusals.refusal_patterns import (
    CONTRAST_WORDS,
    LEAD_IN,
    NO_ANSWER,
    REFUSAL,
    REPEATED_QUESTION,
    UNKNOWN_STATEMENT,
)
from quorum.core.thinking import extract_first_turn

UNKNOWN = "unknown"

WRAPPING_MARKS = " \t\n*_`\"'“”‘’«»()[]{}<>#-–—•"
PUNCTUATION_MARKS = ".,;:?!…"

CONTRACTED_VERB = {"ve": "have", "d": "would", "re": "are"}
SENTENCE_BREAK = re.compile(r"[.!?] +")
LONGEST_READ_ANSWER = 1000  # characters of an answer that are compared with the patterns


def is_unknown(answer: str) -> bool:
    """Whether an answer is empty, says "unknown" (alone or with a reason), or refuses in a usual wording.

    Pass the raw text, not a normalised one. Titles count as answers: "Unknown Pleasures", "I Don't Know How She Does
    It". What follows a "however" or "but" after a refusal counts as an answer, too, unless it refuses again, advises,
    or describes the passages.

    >>> import quorum
    >>> quorum.is_unknown("I cannot tell from the passages."), quorum.is_unknown("Unknown Pleasures")
    (True, False)
    """
    # The text is cut twice. The first cut only limits the work. It leaves nine times the length that is compared,
    # because the tokens that begin the model's turn, and marks before the answer, are removed only afterwards.
    answer_text = extract_first_turn(answer[: 9 * LONGEST_READ_ANSWER]).lstrip(WRAPPING_MARKS + PUNCTUATION_MARKS)[
        :LONGEST_READ_ANSWER
    ]
    line = answer_text.partition("\n")[0]
    text = spell_out(line)
    if is_refusal(text):
        return is_empty(text) or not (has_late_answer(spell_out(answer_text)) or is_name(line, text))
    return False


def is_empty(text: str) -> bool:
    """Whether a text has nothing but marks and punctuation."""
    return not text.strip(WRAPPING_MARKS + PUNCTUATION_MARKS)


def remove_lead_ins(text: str) -> str:
    """The text without what often precedes a refusal, such as "Unfortunately," or "Based on the passages,"."""
    while lead := (LEAD_IN.match(text) or REPEATED_QUESTION.match(text)):
        text = text[lead.end() :]
    return text


def is_refusal(text: str) -> bool:
    """Whether a text is empty or begins with a refusal. The text must come from `spell_out`."""
    text = remove_lead_ins(text)
    return is_empty(text) or bool(UNKNOWN_STATEMENT.match(text) or REFUSAL.match(text))


def is_name(line: str, text: str) -> bool:
    """Whether an apparent refusal is the beginning of a name: "Not Mentioned in Dispatches".

    line: the answer's first line as it was written, because capitals mark a name; text: what `spell_out` makes of it.
    """
    text = remove_lead_ins(text)
    refusal = None if UNKNOWN_STATEMENT.match(text) else REFUSAL.match(text)
    return refusal is not None and not is_empty(text[refusal.end() :]) and is_title(line.strip(WRAPPING_MARKS))


def has_late_answer(text: str) -> bool:
    """Whether an answer follows a refusal: "I do not have recent data. However, it was released in 2018".

    The answer must follow a contrast word, either in the sentence of the refusal or at the beginning of the next
    sentence. The text must come from `spell_out`. A text that begins with "unknown" never has a late answer.
    """
    text = remove_lead_ins(text)
    refusal = UNKNOWN_STATEMENT.match(text) or REFUSAL.match(text)
    if refusal is None or text.startswith(UNKNOWN):
        return False
    same_sentence, *following = SENTENCE_BREAK.split(text[refusal.end() :], maxsplit=2)
    for sentence, find_contrast in (
        (same_sentence, CONTRAST_WORDS.search),
        *((next_sentence, CONTRAST_WORDS.match) for next_sentence in following[:1]),
    ):
        if contrast := find_contrast(sentence):
            late_text = sentence[contrast.end() :]
            if (
                len(late_text.split()) > 2
                and not is_refusal(late_text)
                and not NO_ANSWER.match(remove_lead_ins(late_text))
            ):
                return True
    return False


def spell_out(text: str) -> str:
    """The text on one line, in lower case, with contractions written out, without markdown or quotes around it."""
    text = " ".join(text.replace("’", "'").lower().split()).strip(WRAPPING_MARKS)
    text = re.sub(r"\bcannot\b|\bcan't\b", "can not", text)
    text = re.sub(r"n't\b", " not", text)
    text = re.sub(r"\b(i|we|you|they)'(ve|d|re)\b", lambda match: f"{match[1]} {CONTRACTED_VERB[match[2]]}", text)
    return re.sub(r"\b(it|there|that|what)'s\b", r"\1 is", re.sub(r"\bi'm\b", "i am", text))


def is_title(text: str) -> bool:
    """Whether every word of more than three letters is capitalised, but the text is not all in capitals."""
    words = [word for word in re.findall(r"[^\W\d_][\w'’]*", text) if len(word) > 3]
    return not text.isupper() and bool(words) and all(word[0].isupper() for word in words)
