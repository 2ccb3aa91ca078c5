"""The options of a comparison travel a short way: few functions get them whole, and the way does not go back."""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from quorum.evaluation.comparison import compare, plan_comparison
from quorum.evaluation.run.options import Options

MOST_CALLS, MOST_RETURNS = 15, 3


def holds_options(value: object) -> bool:
    """Whether a value is the options, or has them in a field, as a plan, scores and a decision do."""
    if isinstance(value, Options):
        return True
    if not is_dataclass(value) or isinstance(value, type):
        return False
    return any(holds_options(getattr(value, field.name, None)) for field in fields(value))


@contextmanager
def watch_calls() -> Iterator[list[tuple[str, str]]]:
    """(module, function) of each function of the evaluation that is called with the options, in the order of the first
    calls, in all threads. Methods of what holds the options do not count.
    """
    calls: list[tuple[str, str]] = []

    def watch(frame: FrameType, event: str, value: Any) -> None:
        if event != "call":
            return
        code, module = frame.f_code, frame.f_globals.get("__name__", "")
        call = (module, code.co_name)
        if call in calls or not module.startswith("quorum.evaluation."):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        is_method = "self" in names or code.co_name.startswith("<")
        if not is_method and any(holds_options(frame.f_locals.get(name)) for name in names):
            calls.append(call)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def count_returns(modules: list[str]) -> int:
    """How often a way comes back to a module that it has left.

    >>> count_returns(["a", "a", "b", "a", "c", "b"])
    2
    """
    stays = [module for place, module in enumerate(modules) if place == 0 or module != modules[place - 1]]
    return len(stays) - len(set(stays))


@pytest.mark.parametrize(
    "settings",
    [pytest.param({}, marks=pytest.mark.long), {"race": "exact", "budget": {"calls": 2.0}, "max_cost": 1.0}],
)
def test_the_options_pass_through_few_functions(tmp_path: Path, settings: dict[str, Any]) -> None:
    data, passage = tmp_path / "data.jsonl", {"id": "1", "title": "Vell", "text": "Ada Korn built the lighthouse."}
    records = [
        {"id": f"q{number}", "question": "Who built the lighthouse?", "answers": ["Ada Korn"], "passages": [passage]}
        for number in range(4)
    ]
    data.write_text("\n".join(map(json.dumps, records)))
    options = Options(data=data, corpus="pool", methods="concat,sure", out=tmp_path / "out", **settings)

    async def plan_and_compare() -> None:
        await compare(await plan_comparison(options))

    with watch_calls() as calls:
        asyncio.run(plan_and_compare())
    assert ("quorum.evaluation.comparison", "compare") in calls
    assert ("quorum.evaluation.report.write", "write_report") in calls  # threads are watched, too
    assert len(calls) <= MOST_CALLS, calls
    assert count_returns([module for module, _ in calls]) <= MOST_RETURNS, calls
