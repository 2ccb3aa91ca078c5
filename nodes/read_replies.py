"""Reads the short answers in the replies to a prompt, as the setting `shorten` says.

An answer that was read has only words of the reply that it was read from, and depends on no other reply. Each vote thus
still depends on one passage only, which the certificate of a vote requires.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from langchain_core.language_models import BaseChatModel

from quorum.core.context import Context
from quorum.core.state import CountedReplies, State
from quorum.core.text import UNKNOWN, is_unknown
from quorum.models.call import Reply
from quorum.models.chat import chat_model_async
from quorum.nodes.read_answer import AnswerReading, draft_answer, read_answer_async
from quorum.nodes.shorten import (
    ShortenedAnswer,
    ask_for_cut,
    choose_text_to_cut,
    count_cuts,
    is_wordy,
    wants_short_answer,
)
from quorum.parsing.answers import Parsed, ReasonedAnswer
from quorum.parsing.steps import Action, SelfAskStep
from quorum.prompts import Overrides
from quorum.prompts.prompt import Prompt

T = TypeVar("T")
AnswerPart = ReasonedAnswer | Action | SelfAskStep  # parsed values that hold an answer beside other things


@dataclass(frozen=True)
class ReplyReader:
    """What reads the replies to one question: the setting `shorten`, and what a call of the model needs."""

    question: str
    context: Context
    overrides: Overrides
    model: str | BaseChatModel | None

    async def read(self, text: str, may_ask: bool) -> tuple[str, ShortenedAnswer | None]:
        """(the answer in a text, the call of the model if one was made). may_ask: whether the model may be asked."""
        if self.context.shorten == "model":
            draft = draft_answer(self.question, text)
            reading = AnswerReading(draft.answer, text, draft.unknown, draft.how or "as_is")
        else:
            reading = await read_answer_async(self.question, text)
        if reading.unknown:
            return UNKNOWN, None
        if reading.how != "as_is" or not may_ask:
            return reading.answer, None
        cut = await ask_for_cut(self.question, choose_text_to_cut(text), self.context, self.overrides, self.model)
        return (cut.answer if cut is not None and cut.answer is not None else reading.answer), cut


async def read_short_answers(
    prompt: Prompt[Any],
    question: object,
    replies: Sequence[tuple[Reply, str]],
    parsed_replies: Sequence[Parsed[T]],
    *,
    context: Context,
    overrides: Overrides,
    model: str | BaseChatModel | None,
) -> tuple[list[T], State]:
    """Read the short answers among the replies to a prompt, unless the setting `shorten` is "off".

    question: the prompt's variable `question`; without one, nothing is read. replies: each reply, and its text in the
    words that the prompt asks for. Returns the parsed values, with the answers that were read in place of those
    that were parsed, and a state update that counts the wordy answers and the calls of the prompt `shorten`.
    """
    values = [parsed.value for parsed in parsed_replies]
    if not wants_short_answer(prompt, context):
        return values, {}
    update = count_wordy_answers(prompt, values, [reply.raw for reply, _ in replies])
    if context.shorten == "off" or not isinstance(question, str) or not await is_read_again(context, model):
        return values, update
    reader = ReplyReader(question, context, overrides, model)
    requests = [list_requests(prompt, value, *reply, context) for value, reply in zip(values, replies, strict=True)]
    distinct_requests = list(dict.fromkeys(request for requests_of_reply in requests for request in requests_of_reply))
    answers = dict(
        zip(distinct_requests, await asyncio.gather(*(reader.read(*item) for item in distinct_requests)), strict=True)
    )
    read_values = [
        put_answers(value, [answers[request][0] for request in requests_of_reply])
        for value, requests_of_reply in zip(values, requests, strict=True)
    ]
    cuts = [cut for items in requests for request in items if (cut := answers[request][1]) is not None]
    return read_values, cast(State, {**update, **(count_cuts(cuts) if cuts else {})})


async def is_read_again(context: Context, model: str | BaseChatModel | None) -> bool:
    """Whether the model's replies are read again. Those of the embedded reader and of models trained on one prompt are
    short answers already.
    """
    client = await chat_model_async(context.model if model is None else model, context)
    return not getattr(client, "reads_prompt_inputs", False) and not getattr(client, "is_trained_by_quorum", False)


def count_wordy_answers(prompt: Prompt[Any], values: Sequence[object], raw_replies: Sequence[str]) -> State:
    """The state update that counts the replies whose answers, as they were written, have too many words."""
    wordy_replies = [
        reply for value, reply in zip(values, raw_replies, strict=True) if is_wordy(get_answer(prompt, value) or "")
    ]
    if not wordy_replies:
        return {}
    return State(wordy_answers={prompt.name: CountedReplies(count=len(wordy_replies), replies=wordy_replies)})


def get_answer(prompt: Prompt[Any], value: object) -> str | None:
    """The answer in a value parsed from a reply to the prompt; None if the value is no single answer."""
    if isinstance(value, AnswerPart):
        return value.answer
    return value if isinstance(value, str) and prompt.short_answer == "reply" else None


def list_requests(
    prompt: Prompt[Any], value: object, reply: Reply, text: str, context: Context
) -> list[tuple[str, bool]]:
    """What to read for a parsed value: (a text, whether the model may be asked about it).

    The text is the reply or, after a chain of thought or an action, the answer in it; of a list, each candidate. The
    model is not asked about single candidates, nor about a reply that was cut off.
    """
    may_ask = context.shorten != "reader" and not is_cut_off(reply)
    if isinstance(value, list) and prompt.short_answer == "items":
        return [(candidate, False) for candidate in value if isinstance(candidate, str)]
    answer = get_answer(prompt, value)
    if answer is None or is_unknown(answer):
        return []
    return [(text if isinstance(value, str) else answer, may_ask)]


def is_cut_off(reply: Reply) -> bool:
    """Whether the server ended the reply at its length limit."""
    return (reply.finish or "").lower() in ("length", "max_tokens")


def forget_unfinished_answer(prompt: Prompt[Any], parsed_reply: Parsed[T], reply: Reply) -> Parsed[T]:
    """The parsed reply, with an unknown answer if the reply was cut off before it said which part is its answer: what
    then stands at its end is a piece of the reasoning. Of several candidates, one that the reply ends in is left out.
    """
    value = parsed_reply.value
    if not is_cut_off(reply):
        return parsed_reply
    if isinstance(value, AnswerPart) and parsed_reply.malformed:
        return replace(parsed_reply, value=forget_answer(value))
    is_at_end = isinstance(value, list) and len(value) > 1 and reply.text.rstrip().endswith(str(value[-1]))
    if isinstance(value, list) and is_at_end and prompt.short_answer == "items":
        return replace(parsed_reply, value=cast(T, value[:-1]))
    return parsed_reply


def forget_answer(value: T) -> T:
    """The parsed value with an unknown answer."""
    return put_answer(value, UNKNOWN)


def put_answer(value: T, answer: str) -> T:
    """The parsed value with another answer."""
    if isinstance(value, AnswerPart):
        return cast(T, replace(value, answer=answer))
    return cast(T, answer)


def put_answers(value: T, answers: Sequence[str]) -> T:
    """The parsed value with the answers that were read; unchanged if there are none. Equal candidates become one."""
    if not answers:
        return value
    if isinstance(value, list):
        known_answers = dict.fromkeys(answer for answer in answers if not is_unknown(answer))
        return cast(T, list(known_answers))
    return put_answer(value, answers[0])
