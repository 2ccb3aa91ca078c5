"""Finds the prompts that a node sends, by the names that its code uses."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType
from typing import Any

from quorum.nodes.ask import ask
from quorum.prompts import BUILT_IN
from quorum.prompts.prompt import Prompt
from quorum.prompts.registry import PROMPTS


def find_sent_prompts(node: Callable[..., Any]) -> set[str]:
    """The names of the prompts that a node sends under some settings, variants included: those that its function uses,
    or a function that it calls, of this package or of its own.

    >>> from quorum.nodes.validate_summary import validate
    >>> find_sent_prompts(validate)
    {'validity'}
    """
    found, pending, seen = set[str](), [node], set[int]()
    is_ours = node.__module__.startswith("quorum.")
    packages = "quorum.nodes." if is_ours else ("quorum.nodes.", node.__module__.partition(".")[0])
    while pending:
        function = inspect.unwrap(pending.pop())
        if id(function) in seen or function is ask or not inspect.isfunction(function):
            continue
        seen.add(id(function))
        for name in list_names(function.__code__):
            value = function.__globals__.get(name)
            for prompt in list_prompts(value):
                found.update(variant.name for variant in prompt.list_all())
            if inspect.isfunction(value) and value.__module__.startswith(packages):
                pending.append(value)
    return found


def offers_unknown(prompts: Iterable[str]) -> bool:
    """Whether one of these prompts tells the model that it may answer unknown.

    >>> offers_unknown({"answer"}), offers_unknown({"answer_base"})
    (True, False)
    """
    return any("unknown" in BUILT_IN.get(name, "").lower() for name in prompts)


def list_names(code: CodeType) -> Iterator[str]:
    """The global names that a function's code uses, and those of the functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from list_names(constant)


def list_known_prompts() -> list[Prompt[Any]]:
    """All prompts, the built-in ones and those of plugins; the variants stand in their prompts."""
    variants = {variant.name for prompt in PROMPTS.values() for variant in prompt.variants}
    return [prompt for name, prompt in PROMPTS.items() if name not in variants]


def list_prompts(value: object) -> list[Prompt[Any]]:
    """A prompt, or the prompts of a table by mode or kind."""
    values = value.values() if isinstance(value, Mapping) else [value]
    return [item for item in values if isinstance(item, Prompt)]
