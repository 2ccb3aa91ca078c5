"""The one door to a chat model: every prompt's call is named, limited, retried, counted and journaled here."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Usage
from quorum.core.thinking import remove_thinking
from quorum.models.chat import chat_model_async, identity
from quorum.models.clock import REAL, Clock
from quorum.models.inflight import joined
from quorum.models.journal import Record, journal_of, key_of
from quorum.models.replay import Replay
from quorum.models.request import Request, send
from quorum.models.tracing import note_prompt

__all__ = ["Reply", "call", "remove_thinking"]


@dataclass(frozen=True)
class Reply:
    """One reply.

    text: without reasoning, stripped; raw: as it came. usage and seconds: what it took when it was asked for, also when
    it came from the journal, so that a method's figures are as if it had run alone. stored: nothing was spent on it now
    (it came from the journal, from an identical call in flight, or from the first of identical samples); the sum over
    the replies that are not stored is what was really spent. finish: why the model stopped, in the server's words.
    """

    text: str
    raw: str
    usage: Usage
    seconds: float
    stored: bool
    finish: str | None


async def call(
    prompt: str,
    text: str,
    *,
    context: Context,
    version: str = "",
    detail: str = "",
    inputs: Mapping[str, Any] | None = None,
    n: int = 1,
    temperature: float | None = None,
    model: str | BaseChatModel | None = None,
    config: RunnableConfig | None = None,
    clock: Clock = REAL,
) -> list[Reply]:
    """Ask a model `n` independent times with one message; `temperature` and `model` default to the context's.

    prompt, version: name and hash of the prompt's text, for traces and the journal; detail: which of several such calls
    ("passage 2"); inputs: the prompt's variables, which only the embedded reader is given.

    At temperature 0 the n requests would be identical: one is made, and each reply counts what it took, as n calls
    would. (A model object is asked n times unless its own temperature is 0, and so is the scripted model.) Where the
    server reports no token usage, a token is counted for every three bytes.

    Raises CallError after the last try, TooLong when the prompt does not fit the model's window, SetupError when no
    call can succeed: a refused key, or a server that was unreachable for five minutes.
    """
    asked = context.model if model is None else model
    client = await chat_model_async(asked, context)
    wants_inputs = bool(getattr(client, "wants_inputs", False))
    local = wants_inputs or bool(getattr(client, "in_process", False))  # named by its files, which a thread looks at
    who = await asyncio.to_thread(identity, asked, context) if local else identity(asked, context)
    degree = context.temperature if temperature is None else temperature
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate from a broken file cannot be sent
    name = f"{prompt}: {detail}" if detail else prompt
    metadata = {"prompt": prompt, "prompt_version": version, "prompt_detail": detail}
    note_prompt(prompt, version)
    request = Request(
        model=client,
        label=label(asked, who),
        name=name,
        message=HumanMessage(text),
        decoding=decoding(context, degree, made_by_caller=not isinstance(asked, str)),
        context=context,
        config=merged(config, {"run_name": name, "metadata": metadata}),
        clock=clock,
    )
    structured = (dict(inputs or {}), prompt) if wants_inputs else None
    if n == 1:
        return [await one(request, who, 0, version, structured)]
    requests = 1 if is_greedy(asked, degree) else n
    results = await asyncio.gather(
        *(one(request, who, sample, version, structured) for sample in range(requests)), return_exceptions=True
    )
    errors = [result for result in results if isinstance(result, BaseException)]
    if errors:  # every sample has ended: what succeeded is in the journal
        raise next((error for error in errors if isinstance(error, SetupError)), errors[0])
    replies = [result for result in results if isinstance(result, Reply)]
    return replies + [replace(replies[0], stored=True) for _ in range(n - len(replies))]


async def one(
    request: Request,
    who: dict[str, Any] | None,
    sample: int,
    version: str,
    structured: tuple[dict[str, Any], str] | None,
) -> Reply:
    """Sample number `sample`: from the journal, from an identical call in flight, or from the model."""
    key = None if who is None else key_of(who, request.decoding, str(request.message.content), structured, sample)
    if structured is not None:
        extra = {"prompt": structured[1], "inputs": structured[0], "sample": sample}
        message = HumanMessage(request.message.content, additional_kwargs={"quorum": extra})
        request = replace(request, message=message)
    if "seed" in request.decoding:
        request = replace(request, decoding=request.decoding | {"seed": request.decoding["seed"] + sample})

    async def fetch() -> tuple[Record, bool]:
        journal = None if key is None else await journal_of(request.context)
        found = None if journal is None or key is None else await journal.get(key)
        if found is not None:
            return found, True
        prompt = request.config["metadata"]["prompt"]
        record = replace(await send(request), model=request.label, prompt=prompt, version=version, sample=sample)
        if journal is not None and key is not None:
            await journal.put(key, record)
        return record, False

    (record, stored), mine = await joined(key, fetch)
    if stored or not mine:
        shown = merge_configs(request.config, {"metadata": {"stored": True}})
        await Replay(record=record).ainvoke([request.message], shown)
    return reply(record, stored or not mine)


def merged(config: RunnableConfig | None, ours: RunnableConfig) -> RunnableConfig:
    return ours if config is None else merge_configs(config, ours)


def reply(record: Record, stored: bool) -> Reply:
    """What a caller gets."""
    usage = Usage(
        calls=1,
        input_tokens=record.input_tokens,
        output_tokens=record.output_tokens,
        cached_tokens=record.cached_tokens,
    )
    return Reply(remove_thinking(record.text), record.text, usage, record.seconds, stored, record.finish)


def decoding(context: Context, temperature: float, *, made_by_caller: bool) -> dict[str, Any]:
    """Decoding parameters: a model that the caller made keeps its own until something is to be sampled."""
    if temperature == 0:
        return {} if made_by_caller else {"temperature": 0.0}
    nucleus = {} if context.top_p == 1 else {"top_p": context.top_p}
    return {"temperature": temperature, "seed": context.seed} | nucleus


def is_greedy(model: str | BaseChatModel, temperature: float) -> bool:
    """Whether equal requests get equal replies, as far as can be known."""
    if isinstance(model, str):
        return temperature == 0 and model != "scripted"
    return temperature == 0 and getattr(model, "temperature", None) == 0


def label(model: str | BaseChatModel, who: dict[str, Any] | None) -> str:
    """The model's name in messages, and the name under which its limits are kept."""
    if not isinstance(model, str):
        return f"The model {type(model).__name__} ({getattr(model, 'model_name', None) or hex(id(model))})"
    return f"The model {model!r}" + (f" at {who['base_url']}" if who and who["base_url"] else "")
