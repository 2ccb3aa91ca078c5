"""Reads the short answer out of a reply in any wording: by rules, then by the embedded reader.

No model is called here; `quorum.nodes.read_replies` asks one where the reader is unsure.
"""

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from quorum.algorithms.question_kind import is_yes_no_question
from quorum.algorithms.question_language import find_foreign_language
from quorum.core.text import UNKNOWN, is_unknown
from quorum.core.thinking import remove_thinking
from quorum.parsing.answer_text import find_answer_text
from quorum.parsing.answers import find_stated_part, parse_short_answer, read_json_answer
from quorum.parsing.plain_wording import find_conclusion, strip_wording
from quorum.parsing.question_words import fold_word, fold_words

if TYPE_CHECKING:
    from quorum.models.embedded.reply_reading import ReadAnswer

NUMBER = re.compile(r"[$€£]?\d[\d.,]*")
UNIT = (
    r"(?P<unit>%|°[CF]|(?:percent|per cent|EUR|USD|GBP|CHF|JPY|euros?|dollars?|pounds?|[mck]?m|km/h|mph"
    r"|(?:kilo|centi|milli)?met(?:re|er)s?|miles?|feet|foot|ft|inch(?:es)?|[mk]?g|(?:kilo)?grams?|tonnes?|tons?"
    r"|lit(?:re|er)s?|[KMGT]i?B|bytes?|bits?|ms|milliseconds?|seconds?|minutes?|hours?|days?|weeks?|months?|years?"
    r"|million|billion|watts?|[kM]?W|volts?|Hz)(?!\w))"
)
How = Literal["json", "stripped", "reader", "model", "as_is"]


@dataclass(frozen=True)
class AnswerReading:
    """A short answer and the reply that it was read from."""

    answer: str
    """The short answer, "unknown" if the reply gives none."""
    answer_text: str
    """The reply as the model wrote it, without thoughts."""
    unknown: bool
    """Whether the reply gives no answer."""
    how: How
    """Where the answer comes from: a field of JSON (json), what is left of the reply when lead-ins, Markdown and the
    like are stripped (stripped), the embedded reader (reader), a call of the chat model, which only the methods make
    (model), or the reply, of which nothing was read (as_is).
    """


@dataclass(frozen=True)
class DraftAnswer:
    """What the rules read in a reply. answer: the answer, or the whole statement if it has to be read again; unknown:
    whether the reply gives no answer; how: None if the text has to be read again; text: the reply in plain words.
    """

    answer: str
    unknown: bool
    how: How | None
    text: str


def read_answer(question: str, reply: str) -> AnswerReading:
    """Read the short answer to a question out of a model's reply, whatever its wording.

    The answer is a field of JSON, or what is left of the reply without lead-ins ("Sure!", "Based on ...", "The answer
    is"), Markdown, quotation marks, citation marks ("[3]", "(passage 3)") and the repeated question. What is then still
    a sentence is read by the embedded reader, which is asked the question over the reply alone. If the reader is
    unsure, or does not read the question's language (it reads English), the reply stays as it is. No model is called,
    and nothing leaves this machine.

    question: without it the reader cannot read. reply: the raw reply; a `<think>` part is removed. This function blocks
    for some milliseconds, and some seconds when the reader is loaded; inside an event loop, await `read_answer_async`.

    >>> import quorum
    >>> reading = quorum.read_answer("Who built the lighthouse?", "Sure! According to [2], it was **Ada Korn**.")
    >>> reading.answer, reading.unknown, reading.how
    ('Ada Korn', False, 'stripped')
    """
    steps = read_in_steps(question, reply)
    try:
        text = next(steps)
        from quorum.models.embedded.reply_reading import read_reply_answer_blocking

        steps.send(read_reply_answer_blocking(question, text))
    except StopIteration as result:
        reading: AnswerReading = result.value
        return reading
    raise AssertionError("read_in_steps asks once")


async def read_answer_async(question: str, reply: str) -> AnswerReading:
    """Like `read_answer`, for code in an event loop: the encoder runs in a thread of its own."""
    steps = read_in_steps(question, reply)
    try:
        text = next(steps)
        from quorum.models.embedded.reply_reading import read_reply_answer

        steps.send(await read_reply_answer(question, text))
    except StopIteration as result:
        reading: AnswerReading = result.value
        return reading
    raise AssertionError("read_in_steps asks once")


def read_in_steps(question: str, reply: str) -> Generator[str, "ReadAnswer", AnswerReading]:
    """Read a reply. Yields the text that the embedded reader should read, if it should, and takes the reader's answer.

    This is the one way in which replies are read; its callers differ in how they wait for the reader.
    """
    draft = draft_answer(question, reply)
    text = find_answer_text(reply, draft.answer, question)
    if draft.unknown:
        return AnswerReading(UNKNOWN, text, True, draft.how or "as_is")
    if draft.how is not None:
        return AnswerReading(draft.answer, text, False, draft.how)
    if is_readable(question):
        read = yield draft.text
        if read.is_sure and not is_unknown(read.answer):
            return AnswerReading(add_unit(read.answer, draft.text, question), text, False, "reader")
    return AnswerReading(draft.answer, text, False, "as_is")


def draft_answer(question: str, reply: str) -> DraftAnswer:
    """Read a reply by rules alone."""
    visible_reply = remove_thinking(reply)
    json_answer = read_json_answer(visible_reply)
    plain = strip_wording(
        json_answer.value.answer if json_answer else find_stated_part(visible_reply, question), question
    )
    conclusion = find_conclusion(plain.text)
    unknown = (
        is_unknown(parse_short_answer(visible_reply, question).value)
        or is_unknown(plain.answer)
        or is_unknown(plain.text)
        or (conclusion is not None and is_unknown(f"The answer is {conclusion}"))
    )
    how: How | None = None if not (plain.is_short or unknown) else "json" if json_answer else "stripped"
    return DraftAnswer(plain.answer, unknown, "as_is" if unknown and not json_answer else how, plain.text)


def add_unit(answer: str, text: str, question: str) -> str:
    """A number with the unit that follows it in the text, unless the question names the unit.

    >>> add_unit("165", "A ticket costs 165 EUR.", "What does a ticket cost?")
    '165 EUR'
    """
    if not NUMBER.fullmatch(answer):
        return answer
    quantity = re.search(rf"(?<![\w.,]){re.escape(answer)}\s?{UNIT}", text)
    if quantity is None or fold_word(quantity["unit"]) in fold_words(question):
        return answer
    return quantity.group()


def is_readable(question: str) -> bool:
    """Whether the embedded reader can answer the question with words of a text: it is English, and asks for more than
    yes or no.
    """
    return bool(question.strip()) and not is_yes_no_question(question) and find_foreign_language(question) is None
