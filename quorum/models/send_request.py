"""Sends one request to a model: retries, limits, decoding parameters, errors."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from pydantic import SecretStr

from quorum.core.errors import CallError, QuorumError, SetupError, TooLong
from quorum.core.json_text import replace_lone_surrogates
from quorum.models.failures import (
    CutStream,
    Failure,
    GarbledReply,
    UnreadableMessage,
    classify_error,
    describe_failure,
)
from quorum.models.journal_database import Record
from quorum.models.limits import wait_for_limits
from quorum.models.messages import dump_tool_calls, estimate_messages
from quorum.models.parameters import (
    apply_parameters,
    get_refusals,
    list_parameters,
    list_refused_parameters,
    record_refusal,
)
from quorum.models.refused_access import may_concern_prompt
from quorum.models.request import Request, SchemaRefused
from quorum.models.requested_waits import choose_wait, describe_long_wait, is_too_long
from quorum.models.server_troubles import (
    ServerTries,
    compute_wait_for_server,
    count_server_tries,
    describe_server_tries,
    watch_tries,
)
from quorum.models.stream_ends import (
    COMPLETE,
    EMPTY_REPLY_REASONS,
    check_end,
    find_finish,
    is_openai,
    note_stream_end,
    take_cut_stream,
)
from quorum.models.token_counts import get_cached_tokens, is_count
from quorum.models.token_estimate import estimate_tokens
from quorum.models.tools import TOOLS, find_refused_part, offer_tools, refuse_tools

LONGEST_WAIT = 30.0  # seconds before another try, if the server does not ask for a wait
ANSWERING_MODELS: set[str] = set()  # the labels of models that have answered this process
# Words by which servers say that they do not take a JSON schema.
SCHEMA_WORDS = re.compile(r"response_format|json_schema|json schema|grammar|guided|structured output", re.IGNORECASE)


async def send_request(request: Request) -> Record:
    """Send a request until a reply comes, and return the reply. A request that failed is sent again if that may help.

    Raises CallError, TooLong or SetupError; other exceptions, such as bugs, pass unchanged. Raises SchemaRefused if the
    server refuses a request with a schema.
    """
    with watch_tries(request.server, request.model_label) as tries:
        record = await send_until_answered(request, tries)
    ANSWERING_MODELS.add(request.model_label)
    return record


async def send_until_answered(request: Request, tries: ServerTries) -> Record:
    """See `send_request`. tries: logs the tries that failed."""
    clock, attempt, server_tries = request.clock, 0, 0
    last_error: Exception | None = None
    last_status: int | None = None
    dropped_parameters: set[str] = set()  # refused during this call; if one is refused twice, the call fails
    estimate = estimate_messages(request.messages, request.tools)
    while True:
        left_out = frozenset(get_refusals(request))
        try:
            return await send_once(request, estimate, is_cut_again=isinstance(last_error, CutStream))
        except QuorumError:
            raise
        except Exception as error:
            failure = classify_error(
                error, clock.unix_time(), get_provider_package(request), get_secrets(request.model)
            )
            if failure.kind == "other":
                raise
            failure = judge_denial(request, failure)
            if is_schema_refusal(request, failure):
                raise SchemaRefused from error
            is_repeated = failure.status is not None and failure.status == last_status
            last_status = failure.status
            if refused_part := find_refused_part(request, failure, left_out, is_repeated=is_repeated):
                if refused_part == TOOLS:
                    raise refuse_tools(request, failure) from error
                record_refusal(request, refused_part)
                continue
            if failure.kind == "unreachable":
                server_tries += 1
                all_tries = count_server_tries(request.context.attempts)
                if server_tries >= all_tries:
                    raise make_unreachable_error(request, failure, server_tries) from error
                wait = compute_wait_for_server(server_tries)
                tries.tell_failed_try(failure, server_tries, all_tries, wait, clock.now())
            elif failure.kind == "retryable":
                attempt, server_tries = attempt + 1, 0
                if is_written_again(request, error, last_error):
                    raise make_repeated_error(request, failure, attempt) from error
                wait = compute_wait_before_retry(request, failure, attempt, error)
                tries.tell_failed_try(failure, attempt, request.context.attempts, wait, clock.now())
                last_error = error
            elif failure.parameter in list_parameters(request) - dropped_parameters:
                dropped_parameters.add(failure.parameter)
                record_refusal(request, failure.parameter)
                continue
            else:
                raise make_final_error(request, failure) from error
        await clock.sleep(wait)


async def send_once(request: Request, estimate: int, *, is_cut_again: bool = False) -> Record:
    """Send the request once, when the limits allow it.

    estimate: the estimated tokens of the prompt. is_cut_again: the last stream of this call was cut.
    """
    context = request.context
    async with wait_for_limits(context, request.limits_name, estimate, request.clock) as taken_amounts:
        started_at = request.clock.now()
        async with asyncio.timeout(None if request.is_in_process else context.timeout):
            model, arguments = apply_parameters(request)
            left_out = list_refused_parameters(request)
            try:
                message = await offer_tools(model, request).ainvoke(list(request.messages), request.config, **arguments)
                check_end(message)
            except CutStream as cut:
                message = take_cut_stream(request, cut, is_second=is_cut_again)
        note_stream_end(request, message)
        record = replace(
            make_record(message, estimate, request.clock.now() - started_at, bool(request.tools)), left_out=left_out
        )
        for taken_amount in taken_amounts:
            taken_amount.correct(record.input_tokens + record.output_tokens)
    return record


def is_schema_refusal(request: Request, failure: Failure) -> bool:
    """Whether the JSON schema of the request may have caused a failure.

    True if the server blamed no decoding parameter and one of these holds: it refused the request with status 400, 415
    or 422; or the failure is retryable and has status 501 or a message that mentions schemas.
    """
    if request.schema is None or failure.parameter is not None:
        return False
    if failure.status in (400, 415, 422):
        return failure.kind == "refused"
    return failure.kind == "retryable" and (failure.status == 501 or bool(SCHEMA_WORDS.search(failure.message)))


def judge_denial(request: Request, failure: Failure) -> Failure:
    """The failure. A 403 that names neither a key nor permissions concerns one prompt only if the model has answered
    others: a firewall, for example, stops prompts with a script in them.
    """
    is_of_prompt = failure.kind == "denied" and failure.status == 403 and request.model_label in ANSWERING_MODELS
    return replace(failure, kind="refused") if is_of_prompt and may_concern_prompt(failure.message) else failure


def make_record(message: AIMessage, estimate: int, seconds: float, offers_tools: bool = False) -> Record:
    """A reply's text and cost. If the server counts no tokens, they are estimated: one for every three bytes.

    estimate: the estimated tokens of the prompt. Raises GarbledReply if the reply only calls tools and none were
    offered, or if it comes from an OpenAI server and has neither a text nor a finish reason.
    """
    text = replace_lone_surrogates(str(message.text))
    tool_calls = dump_tool_calls(message)
    if not text and tool_calls and not offers_tools:
        raise UnreadableMessage("it calls a tool and says nothing")
    finish, reasoning = find_finish(message), str(message.additional_kwargs.get("reasoning_content") or "")
    if not text and not tool_calls and finish in (None, COMPLETE) and is_openai(message.response_metadata):
        raise GarbledReply("it has neither a text nor a finish reason")
    usage: Mapping[str, Any] = message.usage_metadata or {}
    has_counts = is_count(usage.get("input_tokens")) and is_count(usage.get("output_tokens"))
    return Record(
        text=text,
        finish=finish,
        input_tokens=usage["input_tokens"] if has_counts else estimate,
        output_tokens=usage["output_tokens"]
        if has_counts
        else estimate_tokens(text + (tool_calls if offers_tools else "")),
        cached_tokens=get_cached_tokens(usage) if has_counts else 0,
        seconds=seconds,
        # The two are equal if the reply stood in the field of the reasoning.
        reasoning="" if reasoning.strip() == text.strip() else reasoning,
        # Calls in a reply that was cut off lack a part.
        tool_calls_json=tool_calls if offers_tools and finish not in EMPTY_REPLY_REASONS else "",
    )


def get_provider_package(request: Request) -> str:
    """The package that the model's class comes from; "" for a model in this process, whose exceptions are bugs.

    If the class is one of Quorum's own, it is the package of its first base class outside Quorum.
    """
    if request.is_in_process:
        return ""
    packages = (base_class.__module__.split(".")[0] for base_class in type(request.model).__mro__)
    return next(package for package in packages if package != "quorum")


def get_secrets(model: BaseChatModel) -> list[str]:
    """The API keys in a model object. No error message may show them."""
    return [value.get_secret_value() for value in vars(model).values() if isinstance(value, SecretStr)]


def make_unreachable_error(request: Request, failure: Failure, tries: int) -> SetupError:
    """The error for a server that did not answer. tries: how often it was tried."""
    return SetupError(
        f"{request.model_label} does not answer ({failure.message}), after {describe_server_tries(tries)}; start the "
        "server or correct its address, then run the command again."
    )


def compute_wait_before_retry(request: Request, failure: Failure, attempt: int, error: Exception) -> float:
    """Seconds before the next try: what the server asked for, else exponential with full jitter.

    attempt: the number of the try that failed, from 1. Raises CallError after the last try, and if the server asks for
    too long a wait.
    """
    if attempt >= request.context.attempts or is_too_long(failure.retry_after):
        tries = f"{attempt} {'try' if attempt == 1 else 'tries'}"
        raise CallError(
            f"{request.model_label} failed on the call {request.name!r} after {tries}: "
            f"{describe_failure(failure)}{describe_long_wait(failure.retry_after)}",
            failure.status,
        ) from error
    return choose_wait(failure.retry_after, attempt, request.clock.draw_jitter(), LONGEST_WAIT)


def is_written_again(request: Request, error: Exception, last_error: Exception | None) -> bool:
    """Whether the model has written the same unreadable message twice, because it is asked at temperature 0."""
    is_greedy = not request.decoding.get("temperature") and "temperature" not in get_refusals(request)
    is_same = isinstance(last_error, UnreadableMessage) and str(last_error) == str(error)
    return is_greedy and is_same and isinstance(error, UnreadableMessage)


def make_repeated_error(request: Request, failure: Failure, attempt: int) -> CallError:
    """The error for a message that cannot be read and that the model writes again each time."""
    return CallError(
        f"{request.model_label} failed on the call {request.name!r} after {attempt} tries: "
        f"{describe_failure(failure)}. At temperature 0 the model writes the same message "
        "each time; check the server's parsers of tool calls and reasoning."
    )


def make_final_error(request: Request, failure: Failure) -> QuorumError:
    """The error for a failure that another try would not fix."""
    if failure.kind == "too_long":
        return TooLong(
            f"{request.model_label}: the prompt of the call {request.name!r} is too long: {describe_failure(failure)}",
            failure.status,
        )
    if failure.kind == "denied":
        variables = sorted((getattr(request.model, "lc_secrets", None) or {}).values())
        check = (" and ".join(variables) or "its key") if failure.status else "the base URL and its certificate"
        verb = "refused the call" if failure.status or not failure.check else "cannot be asked"
        return SetupError(
            f"{request.model_label} {verb} ({describe_failure(failure)}); check {failure.check or check}."
        )
    hint = "; check the model's name and the base URL, which mostly ends in /v1" if failure.status == 404 else ""
    verb = "refused" if failure.status else "failed on"
    return CallError(
        f"{request.model_label} {verb} the call {request.name!r}: {describe_failure(failure)}{hint}", failure.status
    )
