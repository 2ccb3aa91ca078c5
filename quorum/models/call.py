"""Calls chat models. Every call is named, limited, retried, counted and journaled here."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from quorum.cascades.cascade_cache import CASCADE_CACHE
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Usage
from quorum.core.thinking import remove_thinking
from quorum.models.clock import REAL_CLOCK, Clock
from quorum.models.inflight import share_call
from quorum.models.journal import find_journal
from quorum.models.journal_database import Record
from quorum.models.make_request import ReplyIdentity, is_greedy, make_request
from quorum.models.parameters import SCHEMA_PARAMETER, get_refusals, record_refusal
from quorum.models.replay import Replay
from quorum.models.request import Request, SchemaRefused
from quorum.models.send_request import send_request
from quorum.models.stream_ends import is_unfinished
from quorum.models.tools import ToolCall, read_tool_calls

__all__ = ["Reply", "call", "remove_thinking"]


@dataclass(frozen=True)
class Reply:
    """One reply.

    text: stripped, without reasoning; raw: as the server sent it. usage, seconds: the cost of the original call, even
    if the reply comes from the journal, so that a method's figures do not depend on earlier runs. The usage is 0 only
    if the reply comes from an earlier stage of a cascade, because that stage counts it. is_reused: whether the reply
    caused no call: it came from the journal, from an identical call in flight, from the first of identical samples, or
    from the same call of an earlier stage of a cascade. The actual cost is the sum over the replies with
    is_reused=False. finish: why the model stopped, in the server's words. reasoning: the reasoning that the server sent
    in a field of its own. temperature_refused: whether the model refuses the parameter temperature, so that its replies
    may differ even at temperature 0. tool_calls: the calls of
    tools that the model asks for, in their order.
    """

    text: str
    raw: str
    usage: Usage
    seconds: float
    is_reused: bool
    finish: str | None
    reasoning: str = ""
    temperature_refused: bool = False
    tool_calls: tuple[ToolCall, ...] = ()


async def call(
    prompt_name: str,
    content: str | Sequence[BaseMessage],
    *,
    context: Context,
    prompt_version: str = "",
    call_subject: str = "",
    inputs: Mapping[str, Any] | None = None,
    n: int = 1,
    temperature: float | None = None,
    model: str | BaseChatModel | None = None,
    schema: Mapping[str, Any] | None = None,
    config: RunnableConfig | None = None,
    clock: Clock = REAL_CLOCK,
    tools: Sequence[Mapping[str, Any]] = (),
    tool_choice: str | None = None,
) -> list[Reply]:
    """Send a message, or several, to a model `n` independent times; `temperature` and `model` default to the context's.

    content: the text of one human message, or all messages. tools: what the model may call, in the form of the OpenAI
    protocol; tool_choice: "none" forbids the model to call them in this reply.

    prompt_name, prompt_version: the prompt's name and the hash of its text, for traces and the journal; call_subject:
    what this call is about ("passage 2"); inputs: the prompt's variables, which only the embedded reader gets; schema:
    the reply's JSON schema, which is sent to servers that speak the OpenAI protocol and do not refuse it.

    At temperature 0 the n requests would be identical: only one is sent, and each of the n replies has its full usage.
    n requests are sent, however, to the scripted model, to a model object whose own temperature is not 0, and to a
    model that refuses the parameter temperature. If the server reports no token usage, every three bytes count as one
    token.

    Raises CallError after the last try, TooLong when the prompt does not fit the model's window, SetupError when no
    call can succeed: a refused key, a server that did not answer in eight tries over five minutes, or tools for a model
    that takes none.
    """
    request, reply_identity, chosen_model = await make_request(
        prompt_name,
        content,
        context,
        prompt_version,
        call_subject,
        inputs,
        temperature,
        model,
        schema,
        config,
        clock,
        tools,
        tool_choice,
    )
    if n == 1:
        return [await fetch_reply(request, reply_identity, 0)]
    if not is_greedy(chosen_model, context.temperature if temperature is None else temperature):
        return await ask_samples(request, reply_identity, range(n))
    first = await fetch_reply(request, reply_identity, 0)
    if first.temperature_refused:
        return [first, *await ask_samples(request, reply_identity, range(1, n))]
    return [first, *(replace(first, is_reused=True) for _ in range(n - 1))]


async def ask_samples(request: Request, reply_identity: ReplyIdentity, numbers: range) -> list[Reply]:
    """Get independent replies. Errors are raised once all calls have ended, so the journal has those that succeeded."""
    results = await asyncio.gather(
        *(fetch_reply(request, reply_identity, number) for number in numbers), return_exceptions=True
    )
    errors = [result for result in results if isinstance(result, BaseException)]
    if errors:
        raise next((error for error in errors if isinstance(error, SetupError)), errors[0])
    return [result for result in results if isinstance(result, Reply)]


async def fetch_reply(request: Request, reply_identity: ReplyIdentity, sample: int) -> Reply:
    """The reply number `sample` (0 for the first): from an earlier stage of a cascade, from the journal, from an
    identical call in flight, or from the model.
    """
    reply_identity = replace(reply_identity, sample=sample)
    cache = CASCADE_CACHE.get()
    call_key = reply_identity.make_journal_key(request) or (request.model_label, repr(request.content), sample)
    earlier_record: Record | None = None if cache is None else cache.find_earlier_reply(call_key)
    if earlier_record is not None:
        return await reuse_reply(request, earlier_record)
    if reply_identity.inputs is not None:
        prompt_metadata = {"prompt": reply_identity.prompt_name, "inputs": reply_identity.inputs, "sample": sample}
        *earlier, last = request.messages
        last = last.model_copy(update={"additional_kwargs": {"quorum": prompt_metadata}})
        request = replace(request, messages=(*earlier, last))
    record, is_reused = await fetch_record(request, reply_identity)
    if cache is not None:
        cache.store_reply(call_key, record)
    if is_reused:
        await trace_reused_reply(request, record)
    return make_reply(record, is_reused)


async def fetch_record(request: Request, reply_identity: ReplyIdentity) -> tuple[Record, bool]:
    """The record of a reply, and whether it caused no call: it was journaled, or shared with an identical call."""
    key = reply_identity.make_journal_key(request)

    async def fetch() -> tuple[Record, bool]:
        journal = None if key is None else await find_journal(request.context)
        journaled_record = None if journal is None or key is None else await journal.get(key)
        if journaled_record is not None and not is_unfinished(request, journaled_record.finish):
            if SCHEMA_PARAMETER in journaled_record.left_out.split(","):
                record_schema_refusal(request, "takes no JSON schema, as the journal says; asking without one")
            return journaled_record, True
        record, is_reused = await (ask_model if request.schema is None else ask_by_schema)(request, reply_identity)
        if journal is not None and key is not None and not is_unfinished(request, record.finish):
            await journal.put(key, record)
        return record, is_reused

    (record, is_reused), is_first = await share_call(key, fetch)
    return record, is_reused or not is_first


async def ask_model(request: Request, reply_identity: ReplyIdentity) -> tuple[Record, bool]:
    """Send the request to the model. Returns the record of the reply, and False because the reply is not reused."""
    if "seed" in request.decoding:
        request = replace(
            request, decoding=request.decoding | {"seed": request.decoding["seed"] + reply_identity.sample}
        )
    record = await send_request(request)
    record = replace(
        record,
        model=request.model_label,
        prompt_name=reply_identity.prompt_name,
        prompt_version=reply_identity.prompt_version,
        sample=reply_identity.sample,
    )
    return record, False


async def ask_by_schema(request: Request, reply_identity: ReplyIdentity) -> tuple[Record, bool]:
    """Ask for a reply that follows the schema.

    If the model refuses the schema, ask it again without one; if it ignores the schema, keep its reply. In both cases
    later requests to this model carry no schema. The journal has such a reply under two keys, those of the request with
    and without the schema, so that a later run finds it either way.
    """
    plain_request = replace(request, schema=None)
    is_reused = False
    if SCHEMA_PARAMETER in get_refusals(request):
        record, is_reused = await fetch_record(plain_request, reply_identity)
    else:
        try:
            record, _ = await ask_model(request, reply_identity)
            if is_unfinished(request, record.finish) or not is_schema_ignored(record):
                return record, False
            record_schema_refusal(request, "ignores a JSON schema; asking without one")
            journal, key = await find_journal(request.context), reply_identity.make_journal_key(plain_request)
            if journal is not None and key is not None:
                await journal.put(key, record)
        except SchemaRefused:
            record, is_reused = await fetch_record(plain_request, reply_identity)
            record_schema_refusal(request, "takes no JSON schema; asking without one")
    return replace(record, left_out=",".join(filter(None, (record.left_out, SCHEMA_PARAMETER)))), is_reused


def record_schema_refusal(request: Request, message: str) -> None:
    """Stop sending schemas to the model, and log it: as a warning if the schema restricts what the reply may say.

    A schema that allows any text, such as that of a short answer, is no loss: its replies in words say the same.
    """
    properties = (request.schema or {}).get("properties", {}).values()
    allows_any_text = all(schema == {"type": "string"} for schema in properties)
    record_refusal(request, SCHEMA_PARAMETER, message, logging.INFO if allows_any_text else logging.WARNING)


def is_schema_ignored(record: Record) -> bool:
    """Whether the model, which was sent a schema, gave a complete reply without a JSON object."""
    text = remove_thinking(record.text)
    return bool(text) and "{" not in text and record.finish not in ("length", "max_tokens", "content_filter")


async def reuse_reply(request: Request, record: Record) -> Reply:
    """The reply to the same call of an earlier stage of a cascade, with no cost: that stage paid for it."""
    await trace_reused_reply(request, record)
    no_usage = Usage(calls=0, input_tokens=0, output_tokens=0, cached_tokens=0)
    return replace(make_reply(record, is_reused=True), usage=no_usage)


async def trace_reused_reply(request: Request, record: Record) -> None:
    """Show a reused reply in traces."""
    config = merge_configs(request.config, {"metadata": {"reused": True}})
    await Replay(record=record).ainvoke(list(request.messages), config)


def make_reply(record: Record, is_reused: bool) -> Reply:
    """The `Reply` that a record stands for."""
    usage = Usage(
        calls=1,
        input_tokens=record.input_tokens,
        output_tokens=record.output_tokens,
        cached_tokens=record.cached_tokens,
    )
    return Reply(
        text=remove_thinking(record.text),
        raw=record.text,
        usage=usage,
        seconds=record.seconds,
        is_reused=is_reused,
        finish=record.finish,
        reasoning=record.reasoning,
        temperature_refused=record.temperature_refused,
        tool_calls=read_tool_calls(record.tool_calls_json),
    )
