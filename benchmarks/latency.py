"""How long one question takes when every call takes 200 ms: python -m benchmarks.latency

Each question comes with 12 passages, of which the best k = 5 are used. The journal is on, one question runs at a time,
and all its calls may run at once (self_verification has 30). Target for each method: at most 1.05 x (depth x latency) +
15 ms + 4 ms for every call beyond the depth: such calls wait at the same time as others, and only their processing adds
time. The depth is the number of calls that must be made one after the other, on the path through the graph that the
server's replies lead to; the server counts the calls. "ms" is the median time over several new questions, and "best"
the shortest time; "computing" is the median processor time of this process for one question, which does not depend on
the machine's other load.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import MODEL, ServerControl, judge_targets, make_questions, report, run_server
from quorum.core.context import Context
from quorum.graphs import METHODS, answer

# concat_pf and self_route fall back, crag searches again, react searches once, self_ask looks up one follow-up
# question, self_verification verifies; agent searches never, because the server of this benchmark calls no tools.
DEPTH = {
    **dict.fromkeys(METHODS, 1),
    **dict.fromkeys(("concat_pf", "pf_concat", "filco", "iter_retgen", "mcq", "sum_and_pred", "hyde", "react"), 2),
    "self_route": 2,
    "crag": 2,
    **dict.fromkeys(("sure", "self_verification", "self_ask"), 3),
    "blendfilter": 5,
    "selection_inference": 6,
}


async def time_questions(method: str, context: Context, questions: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """(seconds, processor seconds) of each question but the first, which also connects to the server."""
    times = []
    for question in questions:
        begin, processor_begin = time.perf_counter(), time.process_time()
        await answer(question["question"], method, context, given=question["passages"])
        times.append((time.perf_counter() - begin, time.process_time() - processor_begin))
    return times[1:]


def measure_method(server: ServerControl, method: str, latency: float, runs: int, journal: str) -> dict[str, Any]:
    """The depth, the calls, the milliseconds and the target of one method, over `runs` questions."""
    server.set_behaviour(latency=latency, share_unknown_from_several_passages=1.0)
    context = Context(model=MODEL, embeddings=MODEL, journal=journal, concurrency=64)
    times = asyncio.run(time_questions(method, context, list(make_questions(runs + 1, 12))))
    calls = sum(server.fetch_counts()["calls"].values()) / (runs + 1)
    depth = DEPTH[method]
    target = 1.05 * depth * latency + 0.015 + 0.004 * max(0.0, calls - depth)
    return {
        "depth": depth,
        "calls": round(calls, 1),
        "ms": round(1000 * statistics.median(seconds for seconds, _ in times), 1),
        "best_ms": round(1000 * min(times)[0], 1),
        "computing_ms": round(1000 * statistics.median(processor_seconds for _, processor_seconds in times), 1),
        "target_ms": round(1000 * target, 1),
    }


def measure_ratios() -> dict[str, float]:
    """For five methods, the time that the server alone takes (depth x latency), divided by the time of a question."""
    latency, ratios = 0.2, {}
    with run_server() as server, tempfile.TemporaryDirectory() as folder:
        for method in ("concat", "post_fusion", "sure", "blendfilter", "iter_retgen"):
            figures = measure_method(server, method, latency, 5, str(Path(folder) / f"{method}.sqlite"))
            ratios[method] = 1000 * latency * figures["depth"] / figures["ms"]
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds that each call takes")
    parser.add_argument("--runs", type=int, default=7, help="measured questions for each method")
    parser.add_argument("--methods", default=",".join(METHODS))
    options = parser.parse_args()
    findings: dict[str, dict[str, Any]] = {}
    with run_server() as server, tempfile.TemporaryDirectory() as folder:
        for method in options.methods.split(","):
            journal = str(Path(folder) / f"{method}.sqlite")
            findings[method] = measure_method(server, method, options.latency, options.runs, journal)
    rows = [
        [method, *item.values(), "yes" if item["ms"] <= item["target_ms"] else "no"]
        for method, item in findings.items()
    ]
    header = ("method", "depth", "calls", "ms", "best", "computing", "target", "met")
    report(
        "latency",
        header,
        rows,
        methods=findings,
        **judge_targets({m: f["ms"] <= f["target_ms"] for m, f in findings.items()}),
    )


if __name__ == "__main__":
    main()
