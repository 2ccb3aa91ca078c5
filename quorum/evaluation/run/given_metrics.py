"""Metrics that the caller of an evaluation gives as plain functions."""

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quorum.core.errors import SetupError
from quorum.evaluation.metrics.registry import Scorer, list_metrics
from quorum.evaluation.run.column_scores import Row, list_measure_names
from quorum.evaluation.run.user_measures import import_function

GivenMetrics = Sequence[Scorer] | Mapping[str, Scorer]


def name_metrics(metrics: GivenMetrics) -> dict[str, Scorer]:
    """{name: function}; a function in a list is named by its own name. Raises `SetupError` for a name that is taken,
    for a function without a name, and for what is no function.
    """
    items = metrics.items() if isinstance(metrics, Mapping) else [(find_name(metric), metric) for metric in metrics]
    named: dict[str, Scorer] = {}
    for name, metric in items:
        if not callable(metric):
            raise SetupError(
                f"The metric {name!r} is no function; give a function of (result, reference) that returns a number, "
                "True, False or None."
            )
        check_parameters(name, metric)
        if name in named or name in taken_names():
            raise SetupError(f"There is a metric {name!r} already; give yours another name: metrics={{'my_name': f}}.")
        named[name] = metric
    return named


def taken_names() -> set[str]:
    """The names that a row of results already uses."""
    return {*list_metrics(), *list_measure_names(), *Row.__annotations__, "judged", "worth", "n", "errors"}


def find_name(metric: Any) -> str:
    """The function's own name. Raises `SetupError` for a lambda, which has none."""
    name = getattr(metric, "__name__", type(metric).__name__)
    if not str(name).isidentifier():
        raise SetupError(
            f"A metric has the name {name!r}; give it one: metrics={{'my_name': f}}, or write it with def."
        )
    return str(name)


def check_parameters(name: str, metric: Callable[..., Any]) -> None:
    """Raise `SetupError` for a function that does not take (result, reference)."""
    try:
        inspect.signature(metric).bind({}, {})
    except TypeError:
        raise SetupError(
            f"The metric {name!r} does not take two arguments; write def {name}(result, reference): ..., where "
            'result["answer"] is the answer and reference["answers"] are the accepted ones.'
        ) from None
    except ValueError:  # a built-in without a signature
        return


def describe_metrics(metrics: Mapping[str, Scorer]) -> dict[str, str]:
    """{name: a hash of the function's source}: results measured by another function are those of another run."""
    return {name: hashlib.sha256(read_source(metric).encode()).hexdigest()[:12] for name, metric in metrics.items()}


def read_source(metric: Any) -> str:
    """The function's source code, or what else tells it from another function."""
    try:
        return inspect.getsource(metric)
    except (TypeError, OSError):  # a callable object, or a function that was typed into Python
        code = getattr(metric, "__code__", None)
        return repr((code.co_code, code.co_consts, code.co_names)) if code is not None else type(metric).__qualname__


def read_metrics(items: Sequence[str]) -> dict[str, Scorer]:
    """The functions that `--metric [NAME=]MODULE:FUNCTION` names; modules are found in the working directory, too."""
    found: dict[str, Scorer] = {}
    for item in items:
        name, equals, location = (part.strip() for part in item.rpartition("="))
        module_name, colon, function_name = location.partition(":")
        if not (module_name and colon and function_name and bool(name) == bool(equals)):
            raise SetupError(f"Metric {item!r} cannot be read; write MODULE:FUNCTION or NAME=MODULE:FUNCTION.")
        function: Any = import_function(module_name, function_name)
        chosen_name = name or function_name
        if chosen_name in found:
            raise SetupError(f"The metric {chosen_name!r} is given twice; give one of them another name.")
        found[chosen_name] = function
    return name_metrics(found)
