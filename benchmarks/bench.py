"""Compares the ratios of all short benchmarks with the recorded ones: python -m benchmarks.bench [NAME ...] [--record]

A benchmark is a module of this folder with a function `measure_ratios() -> dict[str, float]`, which returns ratios by
their names. A ratio divides two measurements of the same run: two times, two rates, or in `cached` two numbers of
tokens. A higher ratio is better, and a ratio below 90% of the recorded one is called slower; the exit code is then 1,
except with --record. Absolute times are not compared, because they say more about the machine and its load than about
Quorum. Each benchmark runs in a process of its own. --record writes the ratios to recorded_ratios.json, and keeps the
recorded ratios of benchmarks that did not run.
"""

import argparse
import importlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.harness import ROOT, report

BENCHMARKS = ("startup", "overhead", "latency", "throughput", "cached", "embedded", "indexing", "serving")
RECORDED_FILE = Path(__file__).parent / "recorded_ratios.json"
TOLERANCE = 0.9  # a ratio below this share of the recorded one is called slower
Ratios = Mapping[str, float]


def run_benchmark(name: str) -> dict[str, float]:
    """The ratios of one benchmark, measured in a process of its own, whose last line on stdout holds them as JSON."""
    command = [sys.executable, "-m", "benchmarks.bench", name, "--ratios"]
    process = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    ratios: dict[str, float] = json.loads(process.stdout.splitlines()[-1])
    return {f"{name}: {ratio_name}": ratio for ratio_name, ratio in ratios.items()}


def read_recorded_ratios(path: Path = RECORDED_FILE) -> dict[str, float]:
    """The recorded ratios by name; an empty dict if nothing has been recorded."""
    recorded_ratios: dict[str, float] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return recorded_ratios


def compare_ratios(ratios: Ratios, recorded_ratios: Ratios) -> list[tuple[str, str, str, str]]:
    """A row for each ratio: its name, the recorded value, the value now, and the verdict.

    The verdict is "slower" if the value now is below 90% of the recorded value, "faster" if the recorded value is below
    90% of the value now, "new" if no ratio of this name was recorded, else "same".

    >>> compare_ratios({"a": 0.5, "b": 0.8}, {"a": 0.6})
    [('a', '0.600', '0.500', 'slower'), ('b', '-', '0.800', 'new')]
    """
    rows = []
    for name, ratio in ratios.items():
        recorded_ratio = recorded_ratios.get(name)
        if recorded_ratio is None:
            verdict = "new"
        elif ratio < TOLERANCE * recorded_ratio:
            verdict = "slower"
        else:
            verdict = "faster" if ratio * TOLERANCE > recorded_ratio else "same"
        rows.append((name, "-" if recorded_ratio is None else f"{recorded_ratio:.3f}", f"{ratio:.3f}", verdict))
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"the benchmarks to run, from: {', '.join(BENCHMARKS)}; default: all"
    )
    parser.add_argument("--record", action="store_true", help="write the ratios to recorded_ratios.json")
    parser.add_argument(
        "--ratios", action="store_true", help="measure in this process, and print only the ratios, as JSON"
    )
    options = parser.parse_args(arguments)
    names = options.names or list(BENCHMARKS)
    if unknown_names := [name for name in names if name not in BENCHMARKS]:
        parser.error(f"there is no benchmark {unknown_names[0]!r}; choose one of: {', '.join(BENCHMARKS)}")
    if options.ratios:
        for name in names:
            print(json.dumps(importlib.import_module(f"benchmarks.{name}").measure_ratios()))
        return 0
    ratios = {ratio_name: ratio for name in names for ratio_name, ratio in run_benchmark(name).items()}
    recorded_ratios = read_recorded_ratios()
    rows = compare_ratios(ratios, recorded_ratios)
    slower_names = [name for name, _, _, verdict in rows if verdict == "slower"]
    report("bench", ("ratio (higher is better)", "recorded", "now", ""), rows, ratios=ratios, slower=slower_names)
    print(f"Slower than recorded: {'; '.join(slower_names)}." if slower_names else "Nothing is slower than recorded.")
    if options.record:
        updated_ratios = recorded_ratios | {name: round(ratio, 4) for name, ratio in ratios.items()}
        RECORDED_FILE.write_text(json.dumps(updated_ratios, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    return 1 if slower_names and not options.record else 0


if __name__ == "__main__":
    sys.exit(main())
