"""How many passages fit into a model's context window."""

import logging
from collections.abc import Callable, Sequence
from itertools import accumulate, takewhile

from langchain_core.language_models import BaseChatModel

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.models.chat import chat_model_async
from quorum.models.token_estimate import estimate_tokens
from quorum.prompts import RenderedPrompt

LOG = logging.getLogger("quorum")
WARNED_MODELS: set[str] = set()
DEFAULT_WINDOW = 8192  # tokens, if neither the setting nor the model's profile gives a number


async def find_window(context: Context, model: str | BaseChatModel) -> int:
    """How many tokens a prompt may have: the setting context_window, else the model's profile, else 8192."""
    return await find_known_window(context, model) or DEFAULT_WINDOW


async def find_known_window(context: Context, model: str | BaseChatModel) -> int | None:
    """The setting context_window, else what the model's profile says; None if neither says how long a prompt may be."""
    if context.context_window is not None:
        return context.context_window
    profile = getattr(await chat_model_async(model, context), "profile", None) or {}
    return int(profile.get("max_input_tokens") or 0) or None


async def warn_of_assumed_window(context: Context, model: str | BaseChatModel) -> None:
    """Log that passages were left out because of a window that is only assumed: once for each model of this process."""
    name = model if isinstance(model, str) else type(model).__name__
    if name in WARNED_MODELS or await find_known_window(context, model) is not None:
        return
    WARNED_MODELS.add(name)
    LOG.warning(
        "%s: nothing says how many tokens this model reads, so passages beyond %s tokens are left out; set "
        "context_window to the size of its window.",
        name,
        f"{DEFAULT_WINDOW:,}",
    )


def fit_into_window(
    write: Callable[[list[Passage]], RenderedPrompt],
    passages: Sequence[Passage],
    window: int,
    drop_order: Sequence[int] | None = None,
) -> tuple[list[Passage], RenderedPrompt]:
    """The most passages that fit by our estimate, at least one if there are any, and their prompt.

    They are found by bisection, because there may be thousands. It begins with as many as have texts that fill the
    window. drop_order: as of `keep_passages`.
    """
    fitting, too_many = 0, len(passages) + 1
    kept_first = passages if drop_order is None else [passages[number] for number in reversed(drop_order)]
    count, prompt_of_count = count_texts(kept_first, window), dict[int, RenderedPrompt]()
    while too_many - fitting > 1:
        prompt_of_count[count] = write(keep_passages(passages, count, drop_order))
        if estimate_tokens(prompt_of_count[count].text) <= window:
            fitting, doubled = count, min(2 * count, len(passages))
            count = doubled if too_many > len(passages) else (fitting + too_many) // 2
        else:
            too_many, count = count, (fitting + count) // 2
    shown = keep_passages(passages, max(fitting, min(1, len(passages))), drop_order)
    return shown, prompt_of_count.get(len(shown)) or write(shown)


def keep_passages(passages: Sequence[Passage], count: int, drop_order: Sequence[int] | None = None) -> list[Passage]:
    """So many of the passages, in their order. drop_order: their numbers, from 0, in the order in which they are left
    out; None: the last first.

    >>> first, second = Passage(id="1", title="", text=""), Passage(id="2", title="", text="")
    >>> [passage["id"] for passage in keep_passages([first, second], 1, drop_order=[0, 1])]
    ['2']
    """
    if drop_order is None:
        return list(passages[:count])
    kept = set(drop_order[len(drop_order) - count :])
    return [passage for number, passage in enumerate(passages) if number in kept]


def count_texts(passages: Sequence[Passage], window: int) -> int:
    """How many passages, at least one if there are any, have texts that are together no longer than the window."""
    lengths = accumulate(estimate_tokens(passage["text"]) for passage in passages)
    return max(sum(1 for _ in takewhile(lambda length: length <= window, lengths)), min(1, len(passages)))
