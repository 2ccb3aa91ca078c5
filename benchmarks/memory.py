"""Whether an evaluation's memory stays flat: python -m benchmarks.memory [--questions N] [--method NAME]

Evaluates a method (by default concat) on generated questions with given passages, with the benchmarks' model server
and with a journal. Compares this process's resident memory after the first 500 questions with the maximum from
then until the end. Target: the maximum is at most 150 MB higher.
"""

import argparse
import asyncio
import resource
import tempfile
import time
from pathlib import Path

from benchmarks.harness import MODEL, judge_targets, report, run_server, write_question_file
from quorum.core.context import Context
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options

FIRST_QUESTIONS, TARGET_MB = 500, 150.0


def measure_memory() -> float:
    """The resident memory of this process now, in megabytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--method", default="concat")
    options = parser.parse_args()
    megabytes: list[float] = []

    def record_memory(stage: str, done: int, total: int | None) -> None:
        if done >= FIRST_QUESTIONS and done % 100 == 0:
            megabytes.append(measure_memory())

    with run_server() as server, tempfile.TemporaryDirectory() as folder:
        server.set_behaviour()
        data = write_question_file(Path(folder), options.questions, k=3)
        context = Context(model=MODEL, journal=str(Path(folder) / "journal.sqlite"))
        columns = parse_columns(options.method, context)
        begin = time.perf_counter()
        asyncio.run(
            evaluate(Options(data=data, out=Path(folder) / "out", concurrency=16), columns, progress=record_memory)
        )
        seconds = time.perf_counter() - begin
        megabytes.append(measure_memory())
    growth = max(megabytes) - megabytes[0]
    row = (
        options.questions,
        f"{megabytes[0]:.0f}",
        f"{max(megabytes):.0f}",
        f"{growth:.0f}",
        f"{options.questions / seconds:.0f}",
    )
    header = ("questions", "MB after 500", "maximum MB", "growth MB", "questions/s")
    figures = {"questions": options.questions, "growth_mb": round(growth, 1), "seconds": round(seconds, 1)}
    report("memory", header, [row], **figures, **judge_targets({"growth": growth <= TARGET_MB}))


if __name__ == "__main__":
    main()
