"""Reads the short answers in the replies to a prompt, as the setting `shorten` says.

An answer that was read has only words of the reply that it was read from, and depends on no other reply. Each vote thus
still depends on one passage only, which the certificate of a vote requires.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from langchain_core.language_models import BaseChatModel

from quorum.core.context import Context
from quorum.core.state import CountedReplies, State
from quorum.core.text import UNKNOWN, is_unknown
from quorum.models.call import Reply
from quorum.models.chat import chat_model_async
from quorum.nodes.cuts import (
    count_cuts,
    cut_texts,
    is_wordy,
    wants_short_answer,
)
from quorum.nodes.read_answer import AnswerReading, draft_answer, read_answer_async
from quorum.parsing.answers import Parsed, ReasonedAnswer
from quorum.parsing.steps import Action, SelfAskStep
from quorum.prompts import Overrides
from quorum.prompts.prompt import Prompt

T = TypeVar("T")
AnswerPart = ReasonedAnswer | Action | SelfAskStep  # parsed values that hold an answer beside other things


@dataclass(frozen=True)
class ReplyReader:
    """What reads the replies to one question, as the setting `shorten` says."""

    question: str
    context: Context

    async def read(self, text: str, may_ask: bool) -> tuple[str, bool]:
        """(the answer in a text, whether the model should be asked to cut it). may_ask: whether it may be asked."""
        if self.context.shorten == "model":
            draft = draft_answer(self.question, text)
            reading = AnswerReading(draft.answer, text, draft.unknown, draft.how or "as_is")
        else:
            reading = await read_answer_async(self.question, text)
        if reading.unknown:
            return UNKNOWN, False
        return reading.answer, reading.how == "as_is" and may_ask


@dataclass(frozen=True)
class ShortAnswers(Generic[T]):
    """values: the parsed values with the short answers that were read; to_cut: {index of a value: the text in which
    the model is still to find its answer}; state_update: the counters.
    """

    values: list[T]
    to_cut: dict[int, str]
    state_update: State


async def read_short_answers(
    prompt: Prompt[Any],
    question: object,
    replies: Sequence[tuple[Reply, str]],
    parsed_replies: Sequence[Parsed[T]],
    *,
    context: Context,
    overrides: Overrides,
    model: str | BaseChatModel | None,
    cuts_later: bool = False,
) -> ShortAnswers[T]:
    """Read the short answers among the replies to a prompt, unless the setting `shorten` is "off".

    question: the prompt's variable `question`; without one, nothing is read. replies: each reply, and its text in the
    words that the prompt asks for. The state update counts the wordy answers and the calls of the prompt `shorten`.
    cuts_later: leave the calls of this prompt to the node `shorten`.
    """
    values = [parsed.value for parsed in parsed_replies]
    if not wants_short_answer(prompt, context):
        return ShortAnswers(values, {}, {})
    update = count_wordy_answers(prompt, values, [reply.raw for reply, _ in replies])
    if context.shorten == "off" or not isinstance(question, str) or not await is_read_again(context, model):
        return ShortAnswers(values, {}, update)
    reader = ReplyReader(question, context)
    requests = [list_requests(prompt, value, *reply, context) for value, reply in zip(values, replies, strict=True)]
    distinct_requests = list(dict.fromkeys(request for requests_of_reply in requests for request in requests_of_reply))
    answers = dict(
        zip(distinct_requests, await asyncio.gather(*(reader.read(*item) for item in distinct_requests)), strict=True)
    )
    read_values = [
        put_answers(value, [answers[request][0] for request in requests_of_reply])
        for value, requests_of_reply in zip(values, requests, strict=True)
    ]
    to_cut = {n: item[0] for n, items in enumerate(requests) for item in items if answers[item][1]}
    if cuts_later or not to_cut:
        return ShortAnswers(read_values, to_cut, update)
    cuts = await cut_texts(question, [*to_cut.values()], context, overrides, model)
    for index, text in to_cut.items():
        if (cut := cuts[text]) is not None and cut.answer is not None:
            read_values[index] = put_answer(read_values[index], cut.answer)
    counters = count_cuts([cut for text in to_cut.values() if (cut := cuts[text]) is not None])
    return ShortAnswers(read_values, {}, cast(State, {**update, **counters}))


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
