"""One request to a model, tried until it succeeds or cannot: retries, limits, decoding parameters, errors."""

import asyncio
import logging
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from quorum.core.context import Context
from quorum.core.errors import CallError, QuorumError, SetupError, TooLong
from quorum.core.json_text import replace_half_characters
from quorum.models.clock import Clock
from quorum.models.failures import Failure, classify
from quorum.models.journal import Record
from quorum.models.limits import allowed
from quorum.models.loops import per_loop
from quorum.models.token_estimate import tokens

LOG = logging.getLogger("quorum")
FIRST_WAIT, LONGEST_WAIT, LONGEST_ASKED = 0.5, 30.0, 600.0
UNREACHABLE_SECONDS, UNREACHABLE_WAIT = 300.0, 10.0


@dataclass(frozen=True)
class Request:
    """What is sent: one human message to one model. `name` is the call's in traces and errors: "answer: passage 2"."""

    model: BaseChatModel
    label: str
    name: str
    message: HumanMessage
    decoding: dict[str, Any]
    context: Context
    config: RunnableConfig
    clock: Clock

    @cached_property
    def local(self) -> bool:
        """Whether the model runs in this process."""
        return any(getattr(self.model, mark, False) for mark in ("wants_inputs", "in_process"))


async def send(request: Request) -> Record:
    """The reply. Raises CallError, TooLong, SetupError; what is no failure of a call (a bug) is raised as it is."""
    clock, tried, unreachable_since = request.clock, 0, None
    left_out: set[str] = set()
    estimate = tokens(str(request.message.content))
    while True:
        try:
            return await attempt(request, estimate)
        except QuorumError:
            raise
        except Exception as error:
            # ours has bugs, not failures
            package = "" if request.local else type(request.model).__module__.split(".")[0]
            failure = classify(error, clock.date(), package)
            if failure.kind == "other":
                raise
            if failure.kind == "unreachable":
                unreachable_since = clock.now() if unreachable_since is None else unreachable_since
                waited = clock.now() - unreachable_since
                wait = await_server(request, failure, waited)
            elif failure.kind == "again":
                tried, unreachable_since = tried + 1, None
                wait = pause(request, failure, tried, error)
            elif failure.parameter is not None and failure.parameter in request.decoding.keys() - left_out:
                left_out.add(failure.parameter)
                leave_out(request, failure.parameter)
                continue
            else:
                raise final(request, failure) from error
        await clock.sleep(wait)


async def attempt(request: Request, estimate: int) -> Record:
    """Ask once."""
    context = request.context
    async with allowed(context, request.label, estimate, request.clock) as shares:
        started = request.clock.now()
        async with asyncio.timeout(None if request.local else context.timeout):
            model, given = decoded(request)
            message = await model.ainvoke([request.message], request.config, **given)
        record = recorded(message, estimate, request.clock.now() - started)
        for share in shares:
            share.correct(record.input_tokens + record.output_tokens)
    return record


def recorded(message: AIMessage, estimate: int, seconds: float) -> Record:
    """A reply's text and what it took; where the server counts no tokens, a token for every three bytes."""
    text, usage, details = replace_half_characters(str(message.text)), message.usage_metadata, message.response_metadata
    finish = next((details[key] for key in ("finish_reason", "stop_reason", "done_reason") if details.get(key)), None)
    return Record(
        text=text,
        finish=None if finish is None else str(finish),
        input_tokens=usage["input_tokens"] if usage else estimate,
        output_tokens=usage["output_tokens"] if usage else tokens(text),
        cached_tokens=(usage.get("input_token_details") or {}).get("cache_read") or 0 if usage else 0,
        seconds=seconds,
    )


def unsupported(request: Request) -> set[str]:
    """Decoding parameters that this model has refused."""
    refused: set[str] = per_loop().once(("unsupported", request.label), set)
    return refused


def leave_out(request: Request, parameter: str) -> None:
    """From now on. Other calls may be under way with it, and be refused as this one was."""
    if parameter not in unsupported(request):
        unsupported(request).add(parameter)
        LOG.warning("%s does not take %s; going on without it.", request.label, parameter)


def parameters(request: Request) -> dict[str, Any]:
    """The decoding parameters to send."""
    refused = unsupported(request)
    return {name: value for name, value in request.decoding.items() if name not in refused}


def decoded(request: Request) -> tuple[BaseChatModel, dict[str, Any]]:
    """A model and call arguments that apply the decoding parameters; one client serves all of them.

    OpenAI's client, the embedded and the scripted model take them with the call. Others take them as settings: a
    shallow copy, which shares the connections, has those that the class knows.
    """
    model, wanted = request.model, parameters(request)
    if request.local or takes_parameters(type(model)):
        return model, wanted
    known = {name: value for name, value in wanted.items() if name in type(model).model_fields}
    return (model.model_copy(update=known) if known else model), {}


@cache
def takes_parameters(kind: type[BaseChatModel]) -> bool:
    """Whether models of this class take decoding parameters with a call."""
    return bool({base.__name__ for base in kind.__mro__} & {"BaseChatOpenAI", "ScriptedModel"})


def await_server(request: Request, failure: Failure, waited: float) -> float:
    """Seconds until an unreachable server is tried again."""
    if waited >= UNREACHABLE_SECONDS:
        raise SetupError(
            f"{request.label} could not be reached for {UNREACHABLE_SECONDS / 60:.0f} minutes ({failure.said}); start "
            "the server or correct its address, then run the same again."
        )
    said: set[str] = per_loop().once("unreachable", set)
    if request.label not in said:
        said.add(request.label)
        LOG.warning("%s cannot be reached; waiting for it up to %.0f minutes.", request.label, UNREACHABLE_SECONDS / 60)
    share = 0.5 + request.clock.share() / 2
    return min(share * UNREACHABLE_WAIT, FIRST_WAIT + waited, UNREACHABLE_SECONDS - waited)


def pause(request: Request, failure: Failure, tried: int, error: Exception) -> float:
    """Seconds before the next try: what the server asked for, else exponential with full jitter."""
    asked = failure.retry_after
    if tried >= request.context.attempts or (asked is not None and asked > LONGEST_ASKED):
        tries = f"{tried} {'try' if tried == 1 else 'tries'}"
        later = f" (the server asks for {asked:.0f} seconds)" if asked is not None and asked > LONGEST_ASKED else ""
        raise CallError(
            f"{request.label} failed on {request.name!r} after {tries}: {words(failure)}{later}",
            failure.status,
        ) from error
    share = request.clock.share()
    if asked is not None:
        return asked * (1 + 0.1 * share)  # not all at the same moment
    return share * min(LONGEST_WAIT, FIRST_WAIT * 2.0**tried)


def final(request: Request, failure: Failure) -> QuorumError:
    """The error for a failure that no other try would mend."""
    if failure.kind == "too_long":
        return TooLong(f"{request.label}: the prompt of {request.name!r} is too long: {words(failure)}", failure.status)
    if failure.kind == "denied":
        variables = sorted((getattr(request.model, "lc_secrets", None) or {}).values())
        check = (" and ".join(variables) or "its key") if failure.status else "the base URL and its certificate"
        return SetupError(f"{request.label} refused the call ({words(failure)}); check {check}.")
    hint = "; check the model's name and the base URL, which mostly ends in /v1" if failure.status == 404 else ""
    return CallError(f"{request.label} refused {request.name!r}: {words(failure)}{hint}", failure.status)


def words(failure: Failure) -> str:
    """The status and what the server said."""
    return f"{failure.status}: {failure.said}" if failure.status else failure.said
