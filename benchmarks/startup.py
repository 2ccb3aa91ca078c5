"""How fast the command starts: python -m benchmarks.startup

Times `quorum --help`, and `quorum ask` with one question to the sample and the embedded model ("first answer"). Each
runs in a process of its own. The sample is already indexed, the journal is off, and an earlier, untimed run has brought
the program's files into the system's cache. Targets: 0.4 s for `quorum --help`, 1.8 s for the first answer.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.harness import ROOT, judge_targets, report

TARGETS = {"quorum --help": 0.4, "first answer": 1.8}  # seconds
ASK_ARGUMENTS = ["ask", "Who designed the Eiffel Tower?", "--set", "journal=off"]


def time_command(arguments: list[str], folder: Path) -> float:
    """The wall time, in seconds, of `quorum` with these arguments in this folder."""
    command = [sys.executable, "-c", "from quorum.cli.main import main; main()", *arguments]
    begin = time.perf_counter()
    subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, capture_output=True)
    return time.perf_counter() - begin


def measure_ratios() -> dict[str, float]:
    """For each command, the time of an interpreter that only imports asyncio and json ("bare"), divided by the time of
    the command.
    """
    times: dict[str, list[float]] = {"bare": [], "quorum --help": [], "first answer": []}
    with tempfile.TemporaryDirectory() as folder:
        time_command(ASK_ARGUMENTS, Path(folder))  # untimed; the first call indexes the sample
        for _ in range(3):
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", "import asyncio, json"], check=True)
            times["bare"].append(time.perf_counter() - begin)
            times["quorum --help"].append(time_command(["--help"], Path(folder)))
            times["first answer"].append(time_command(ASK_ARGUMENTS, Path(folder)))
    bare = statistics.median(times.pop("bare"))
    return {name: bare / statistics.median(seconds) for name, seconds in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="how many times each command is timed")
    options = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in TARGETS}
    with tempfile.TemporaryDirectory() as folder:
        time_command(ASK_ARGUMENTS, Path(folder))  # untimed; the first call indexes the sample
        for _ in range(options.runs):
            times["quorum --help"].append(time_command(["--help"], Path(folder)))
            times["first answer"].append(time_command(ASK_ARGUMENTS, Path(folder)))
    medians = {name: round(statistics.median(times_of_command), 3) for name, times_of_command in times.items()}
    rows = [(name, f"{value:.2f}", f"{min(times[name]):.2f}", TARGETS[name]) for name, value in medians.items()]
    target = judge_targets({name: value <= TARGETS[name] for name, value in medians.items()})
    report("startup", ("command", "median s", "best s", "target s"), rows, seconds=medians, **target)


if __name__ == "__main__":
    main()
