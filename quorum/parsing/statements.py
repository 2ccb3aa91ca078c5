"""Reads three kinds of replies: a statement with some words masked, the words that a mask hides, and an answer with
notes.

The masked words are a condition: a name, a date or another detail that the question gives. The notes are what the model
writes down while it reads the passages one at a time.
"""

import re

from quorum.core.state import MaskedStatement
from quorum.core.text import UNKNOWN, is_unknown, normalize
from quorum.parsing.answers import (
    Parsed,
    ReasonedAnswer,
    clean_answer,
    format_value,
    list_lines,
    parse_reasoned_answer,
    parse_short_answer,
    read_object,
)
from quorum.parsing.wrapping import remove_wrapping

MASK = "[MASK]"
# The forms in which models write a mask: "[MASK]", "[masked]", "[...]", "<blank>", "____".
WRITTEN_MASK = re.compile(
    r"\[[ \t]{0,3}(?:mask(?:ed)?|blank|hidden|\.\.\.|…|_{1,20})[ \t]{0,3}\]|<(?:mask|blank)>|_{2,40}", re.IGNORECASE
)
LABEL_TEMPLATE = r"^[^\w\n\[]{0,9}(?:%s)[*_\"'`]{0,3}[ \t]*[:：=][*_]{0,3}[ \t]*"
STATEMENT_LABEL = re.compile(LABEL_TEMPLATE % r"(?:masked[ \t])?statement", re.MULTILINE | re.IGNORECASE)
HIDDEN_WORDS_LABEL = re.compile(
    LABEL_TEMPLATE % r"(?:hidden|masked|missing|removed|condition|\[mask\])(?:[ \t](?:words?|conditions?|part))?",
    re.MULTILINE | re.IGNORECASE,
)


def parse_masked_statement(reply: str, answer: str = "") -> Parsed[MaskedStatement | None]:
    """The masked statement and its hidden words, from two lines "Statement: ..." and "Hidden: ...".

    answer: the proposed answer, which must not be the hidden words. "Hidden: none" gives None. The label "Statement:"
    may be missing, masks may be written in other ways, and JSON is read, too. If the statement still shows the hidden
    words, they are masked.

    If the model wrote no mask itself, but the statement shows the hidden words, the reply is malformed, and the value
    is the statement with these words masked. The reply is malformed, and the value None, if the reply names no hidden
    words, if they are the answer itself, or if the statement has neither a mask nor these words.
    """
    statement, hidden_words = split_parts(remove_wrapping(reply))
    if statement and is_nothing(hidden_words):
        return Parsed(None)
    if normalize(hidden_words) in ("", normalize(answer)):
        return Parsed(None, malformed=True)
    hidden_words_pattern = re.compile(rf"(?<!\w){re.escape(hidden_words)}(?!\w)", re.IGNORECASE)
    has_mask = WRITTEN_MASK.search(statement) is not None
    # The hidden words are masked wherever the statement repeats them.
    masked_statement = hidden_words_pattern.sub(MASK, WRITTEN_MASK.sub(MASK, statement))
    return Parsed(
        MaskedStatement(statement=masked_statement, hidden_words=hidden_words) if MASK in masked_statement else None,
        malformed=not has_mask,
    )


def is_nothing(hidden_words: str) -> bool:
    """Whether the words that a reply gives as hidden say that there is nothing to hide, such as "none"."""
    words = normalize(hidden_words)
    return words in ("none", "nothing", "no condition", "na") or bool(words and is_unknown(hidden_words))


def split_parts(text: str) -> tuple[str, str]:
    """(statement, hidden words). A part that the reply lacks is empty. In a reply that is not JSON and has no label for
    hidden words, both are empty.
    """
    if json_object := read_object(text[text.find("{") : text.rfind("}") + 1]):
        hidden_words = next(
            (json_object[key] for key in ("hidden", "hidden words", "condition", "masked") if key in json_object), ""
        )
        return format_value(json_object.get("statement")), clean_answer(format_value(hidden_words))
    hidden_label = HIDDEN_WORDS_LABEL.search(text)
    if hidden_label is None:
        return "", ""
    statement_label = STATEMENT_LABEL.search(text, 0, hidden_label.start())
    statement = text[statement_label.end() if statement_label else 0 : hidden_label.start()]
    return " ".join(statement.split()), clean_answer(next(list_lines(text[hidden_label.end() :]), ""))


RESTORED_WORDS_LABEL = re.compile(
    r"\A[^\w\n\[]{0,9}(?:\[mask\]|(?:the[ \t])?(?:missing|hidden|masked)(?:[ \t]words?)?)[^\w\n:：=]{0,3}"
    r"(?:[:：=]|(?:is|are|was|were)\b[ \t]*:?)[*_]{0,3}",
    re.IGNORECASE,
)


def parse_missing_words(reply: str) -> Parsed[str]:
    """The words that a reply gives for `MASK`; in other respects like `parse_short_answer`."""
    return parse_short_answer(RESTORED_WORDS_LABEL.sub("", remove_wrapping(reply)))


NOTES_LABEL = re.compile(
    r"\A[^\w\n]{0,9}(?:new[ \t]|updated[ \t]|my[ \t])?notes(?:[ \t]so[ \t]far)?[*_\"'`]{0,3}[ \t]*[:：][*_]{0,3}\s*",
    re.IGNORECASE,
)


def parse_answer_with_notes(reply: str, question: str = "") -> Parsed[ReasonedAnswer]:
    """The answer after the last "Answer:" and the notes before it; in other respects like `parse_reasoned_answer`.

    The notes are returned as the rationale. Without notes the reply is malformed, and the rationale is None. If there
    are only notes, the answer is "unknown".
    """
    parsed_reply = parse_reasoned_answer(reply, question)
    answer, text_before_answer = parsed_reply.value.answer, parsed_reply.value.rationale or ""
    if NOTES_LABEL.match(answer):  # what was taken for the answer is notes
        answer, text_before_answer = UNKNOWN, "\n".join(filter(None, (text_before_answer, answer)))
    text = remove_wrapping(reply)
    json_object = read_object(text[text.find("{") : text.rfind("}") + 1]) or {}
    notes = format_value(json_object.get("notes", "")) or NOTES_LABEL.sub("", text_before_answer).strip() or None
    return Parsed(ReasonedAnswer(answer, notes), parsed_reply.malformed or notes is None)
