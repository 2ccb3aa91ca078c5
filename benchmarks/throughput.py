"""Whether an evaluation keeps a server's slots busy: python -m benchmarks.throughput

200 questions with given passages; the server answers 16 calls at once (it has 16 slots) and takes 200 ms for each. The
slot bound is the shortest time in which 16 slots can answer all calls: the latency times the number of calls of the
busiest slot (calls / 16, rounded up). Target: the bound is at least 97% of the time that was taken. The client makes
twice as many calls at once as there are slots, so that a call always waits for a free slot. With only as many calls as
slots, a slot would be empty while this process reads a reply and writes the next prompt (--calls 16 shows it).
"""

import argparse
import asyncio
import math
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.harness import (
    MODEL,
    ServerControl,
    format_share,
    judge_targets,
    report,
    run_server,
    write_question_file,
)
from quorum.core.context import Context
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options

METHODS = "sure,post_fusion,concat_pf,blendfilter,iter_retgen"


def measure_method(server: ServerControl, method: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Time one method over all questions.

    An evaluation of a few questions comes first. It is not timed: it imports all modules and connects to the server.
    "share" in the result: the slot bound divided by the time taken.
    """
    data = write_question_file(folder, options.questions, k=5)
    calls_at_once = options.calls or 2 * options.slots
    context = Context(model=MODEL, concurrency=calls_at_once, journal=str(folder / f"{method}.sqlite"))
    # The timed evaluation gets an empty journal, so that it does not reuse the replies of the first one.
    empty_journal_context = replace(context, journal=str(folder / "second.sqlite"))

    async def time_evaluation() -> float:
        await evaluate(
            Options(data=data, out=folder / f"{method}-first", limit=options.slots), parse_columns(method, context)
        )
        # This also resets the server's counts, so that they hold only the calls of the timed evaluation.
        server.set_behaviour(latency=options.latency, slots=options.slots, share_unknown_from_several_passages=0.3)
        begin = time.perf_counter()
        await evaluate(  # with 64 questions at once; the context limits the calls at once
            Options(data=data, out=folder / method, concurrency=64), parse_columns(method, empty_journal_context)
        )
        return time.perf_counter() - begin

    server.set_behaviour()
    seconds = asyncio.run(time_evaluation())
    counts = server.fetch_counts()
    calls = sum(counts["calls"].values())
    bound = math.ceil(calls / options.slots) * options.latency
    return {
        "calls": calls,
        "most_at_once": counts["most_at_once"],
        "bound_s": round(bound, 2),
        "seconds": round(seconds, 2),
        "share": round(bound / seconds, 4),
    }


def measure_ratios() -> dict[str, float]:
    """For each method, the slot bound divided by the time taken: 1 if no slot was ever empty."""
    options, ratios = argparse.Namespace(questions=100, slots=16, calls=None, latency=0.2), {}
    with run_server() as server:
        for method in METHODS.split(","):
            with tempfile.TemporaryDirectory() as folder:
                ratios[method] = float(measure_method(server, method, options, Path(folder))["share"])
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--calls", type=int, help="how many calls the client makes at once; default: twice the slots")
    parser.add_argument("--latency", type=float, default=0.2, help="seconds per call")
    parser.add_argument("--methods", default=METHODS)
    options = parser.parse_args()
    figures = {}
    with run_server() as server:
        for method in options.methods.split(","):
            with tempfile.TemporaryDirectory() as folder:
                figures[method] = measure_method(server, method, options, Path(folder))
    rows = [[method, *list(item.values())[:-1], format_share(item["share"])] for method, item in figures.items()]
    header = ("method", "calls", "most at once", "bound s", "seconds", "bound / seconds")
    report(
        "throughput",
        header,
        rows,
        methods=figures,
        **judge_targets({m: item["share"] >= 0.97 for m, item in figures.items()}),
    )


if __name__ == "__main__":
    main()
