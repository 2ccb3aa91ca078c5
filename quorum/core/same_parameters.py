"""Gives a function the parameters of another one, to which it passes them on."""

import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def takes_parameters_of(
    source: Callable[Parameters, object],
) -> Callable[[Callable[..., Returned]], Callable[Parameters, Returned]]:
    """A decorator for a function that passes its arguments on to `source`: its signature then names the parameters of
    `source`, with their types and defaults, for type checkers, editors and `help`.

    >>> def measure(text: str, *, unit: str = "words") -> int: ...
    >>> @takes_parameters_of(measure)
    ... def describe(*args: Any, **options: Any) -> str: ...
    >>> inspect.signature(describe)
    <Signature (text: str, *, unit: str = 'words') -> str>
    """

    def decorate(function: Callable[..., Returned]) -> Callable[Parameters, Returned]:
        described: Any = function
        returned = inspect.signature(function).return_annotation
        described.__signature__ = inspect.signature(source).replace(return_annotation=returned)
        return function

    return decorate
