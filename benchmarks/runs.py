"""Runs evaluations against the benchmarks' model server and reads their results.

faults.py, crashes.py and full_disk.py use these functions.
"""

import asyncio
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.harness import MODEL
from quorum.core.context import Context
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options

METHODS = "concat,post_fusion,concat_pf,sure,blendfilter"
TIMING_KEYS = ("seconds", "reused_calls")  # what an interruption or another run at the same time may change


def time_evaluation(
    data: Path, out: Path, journal: Path, *, methods: str = METHODS, timeout: float = 3.0, concurrency: int = 16
) -> float:
    """Evaluate the methods, and return the seconds that it took."""
    context = Context(model=MODEL, journal=str(journal), timeout=timeout, concurrency=concurrency)
    begin = time.perf_counter()
    asyncio.run(evaluate(Options(data=data, out=out, concurrency=concurrency), parse_columns(methods, context)))
    return time.perf_counter() - begin


def read_rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text("utf-8").splitlines()]


def read_rows_without_timing(folder: Path) -> Counter[str]:
    """Every row as JSON text without its timing, and how often it occurs. Equal for runs with the same results in any
    order.
    """
    return Counter(map(format_without_timing, read_rows(folder)))


def format_without_timing(row: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in row.items() if key not in TIMING_KEYS}, sort_keys=True)


def count_differences(rows: Counter[str], other_rows: Counter[str]) -> int:
    """How many rows only one of the two runs has."""
    return sum(((rows - other_rows) + (other_rows - rows)).values())
