"""One prompt, asked: rendered, fitted to the model's window, called, parsed, counted."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from quorum.core.context import Context, settings
from quorum.core.errors import TooLong
from quorum.core.state import Malformed, Passage, State, Usage, merge_usage
from quorum.models.call import Reply, call
from quorum.models.chat import chat_model_async
from quorum.models.token_estimate import tokens
from quorum.parsing.answers import Parsed
from quorum.prompts import Rendered, load, render
from quorum.prompts.passages import numbered_or_none

T = TypeVar("T")

WINDOW = 8192  # tokens, where neither the context nor the model says


@dataclass(frozen=True)
class Asked(Generic[T]):
    """values: one per sample; shown: the passages that fitted; update: usage, malformed and dropped, for the state."""

    values: list[T]
    shown: list[Passage]
    update: State


async def ask(
    prompt: str,
    runtime: Runtime[Context],
    *,
    parse: Callable[[str], Parsed[T]],
    inputs: Mapping[str, str | list[str]],
    passages: Sequence[Passage] | None,
    layout: Callable[[Sequence[Passage]], str] = numbered_or_none,
    detail: str = "",
    n: int = 1,
    temperature: float | None = None,
    model: str | BaseChatModel | None = None,
) -> Asked[T]:
    """Ask one prompt n times and parse the replies. `inputs` fill its variables, a list as one item a line; None as
    `passages` is a prompt that shows none, `layout` writes those that fit. `model` is another one than the context's.

    The lowest-ranked passages are dropped until the prompt fits the window, by estimate and by the server's word.
    Raises TooLong when not even one passage fits.
    """
    context = settings(runtime)
    overrides = await asyncio.to_thread(load, context.prompts) if isinstance(context.prompts, str) else context.prompts
    window = await window_of(context, context.model if model is None else model)
    slots = {name: value if isinstance(value, str) else listed(value) for name, value in inputs.items()}
    shown = list(passages or ())
    while True:
        listing = {} if passages is None else {"passages": layout(shown)}
        rendered = render(prompt, overrides, **slots, **listing)
        try:
            if tokens(rendered.text) > window:
                raise TooLong(f"about {tokens(rendered.text)} tokens, the window has {window}")
            replies = await call(
                prompt,
                rendered.text,
                context=context,
                version=rendered.version,
                detail=detail,
                inputs={**inputs} if passages is None else {**inputs, "passages": shown},
                n=n,
                temperature=temperature,
                model=model,
            )
        except TooLong as error:
            if len(shown) < 2:
                raise too_long(rendered, shown, error) from None
            shown.pop()
        else:
            break
    parsed = [parse(reply.text) for reply in replies]
    dropped = len(passages or ()) - len(shown)
    return Asked([one.value for one in parsed], shown, update_of(prompt, replies, parsed, dropped))


async def window_of(context: Context, model: str | BaseChatModel) -> int:
    """Tokens that a prompt may have: the context's word, else the model's profile, else 8192."""
    if context.context_window is not None:
        return context.context_window
    profile = getattr(await chat_model_async(model, context), "profile", None) or {}
    return int(profile.get("max_input_tokens") or WINDOW)


def listed(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def too_long(rendered: Rendered, shown: Sequence[Passage], error: TooLong) -> TooLong:
    """What to do when dropping passages does not help."""
    what = f"with passage {shown[0]['id']!r} alone" if shown else "without any passage"
    message = (
        f"Prompt {rendered.name!r} does not fit the model's window even {what} ({error}); split the documents into "
        "shorter passages, or set context_window to what the model really takes."
    )
    return TooLong(message, error.status)


def update_of(prompt: str, replies: Sequence[Reply], parsed: Sequence[Parsed[T]], dropped: int) -> State:
    """The bookkeeping of one prompt's replies. A reply that was cut off at the length limit is malformed, too."""
    usage: dict[str, Usage] = {}
    for reply in replies:
        usage = merge_usage(usage, {prompt: reply.usage})
    bad = [reply.raw for reply, one in zip(replies, parsed, strict=True) if one.malformed or was_cut(reply)]
    return State(
        usage=usage, dropped=dropped, malformed={prompt: Malformed(count=len(bad), replies=bad)} if bad else {}
    )


def was_cut(reply: Reply) -> bool:
    return (reply.finish or "").lower() in ("length", "max_tokens")
