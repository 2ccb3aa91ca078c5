"""How many runs rules with an error guarantee save, and how often they err: python -m benchmarks.decisions

    record --data nq_search=FILE squad_open=FILE,CORPUS ... --out DIR     (resumable: the same command goes on)
    replay DIR [--orders 1000]

`record` asks every method every question (400 of each set) with the offline reader and keeps numbers only: right,
unknown, failed, calls, tokens and confidence, questions by methods, in DIR/NAME.npz with the weights' hash. `replay`
draws orders of the questions and lets rules decide when to stop asking a method: our race in its three modes, an
unpaired Wald interval every five questions, and McNemar's test after every question. A rule errs when it loses all of
the best methods: "questions" and the others by the recorded matrix, "future" by draws with replacement from it.
"""

import argparse
import asyncio
import json
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import format_share, report
from quorum.algorithms.binomial import binomial_cdf
from quorum.algorithms.race import MODES, run_race
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.decisions.recorded_results import read_results
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options

KEPT = ("unknown", "calls", "input_tokens", "output_tokens", "confidence")
LOOKS_EVERY, WALD_Z, ALPHA = 5, 1.645, 0.05
Floats = NDArray[np.float64]


def record(name: str, data: Path, corpus: str | None, out: Path, limit: int, methods: str) -> None:
    """Ask the missing questions of one set, then write its numbers."""
    folder = out / "runs" / name
    context = Context(model="embedded", k=5)
    options = Options(data=data, methods=methods, limit=limit, corpus=corpus, context=context, out=folder)
    asyncio.run(evaluate(options))
    results = read_results(folder)
    methods_of = results.complete
    numbers = {part: np.array([results.numbers(one, part) for one in methods_of]).T.astype("f4") for part in KEPT}
    right = np.array([results.numbers(one, results.measure) for one in methods_of]).T.astype("f4")
    about = {"methods": methods_of, "measure": results.measure, "model": results.settings(methods_of[0])["model"]}
    np.savez_compressed(out / f"{name}.npz", right=right, about=np.array(json.dumps(about)), **numbers)  # type: ignore[arg-type]


def replay(file: Path, orders: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """For each rule: the share of runs saved, and the share of orders in which it lost all of the best methods."""
    table = np.nan_to_num(np.load(file)["right"].astype(np.float64))
    best = np.flatnonzero(table.mean(axis=0) >= table.mean(axis=0).max() - 1e-9)
    draw, n = np.random.default_rng(seed), len(table)
    found: dict[str, list[tuple[float, bool]]] = {}
    for _ in range(orders):
        shuffled, drawn = table[draw.permutation(n)], table[draw.integers(n, size=n)]
        for mode in MODES:
            race = run_race(drawn if mode == "future" else shuffled, mode)
            found.setdefault(f"race {mode}", []).append(judge_drops(race.dropped, table.shape, best))
        found.setdefault("Wald every five", []).append(judge_drops(drop_by_wald(shuffled), table.shape, best))
        found.setdefault("McNemar every one", []).append(judge_drops(drop_by_mcnemar(shuffled), table.shape, best))
    return {
        rule: (float(np.mean([one[0] for one in all_])), float(np.mean([one[1] for one in all_])))
        for rule, all_ in found.items()
    }


def judge_drops(dropped: dict[int, int], shape: tuple[int, ...], best: NDArray[np.int64]) -> tuple[float, bool]:
    """The share of runs saved, and whether the rule dropped all of the best methods."""
    questions, methods = shape
    saved = sum(questions - after for after in dropped.values()) / (questions * methods)
    return saved, all(int(one) in dropped for one in best)


def drop_by_wald(table: Floats) -> dict[int, int]:
    """Drop methods whose unpaired 90% interval lies below the leader's. Tests after every five questions."""
    live, dropped = list(range(table.shape[1])), dict[int, int]()
    for after in range(LOOKS_EVERY, len(table) + 1, LOOKS_EVERY):
        means = table[:after].mean(axis=0)
        half = WALD_Z * np.sqrt(means * (1 - means) / after)
        leader = max(live, key=lambda one: means[one])
        for one in [one for one in live if means[one] + half[one] < means[leader] - half[leader]]:
            live.remove(one)
            dropped[one] = after
    return dropped


def drop_by_mcnemar(table: Floats) -> dict[int, int]:
    """Drop methods that McNemar's exact test at 5% finds worse than the leader. Tests after every question."""
    live, dropped = list(range(table.shape[1])), dict[int, int]()
    right = table > 0.5
    for after in range(1, len(table) + 1):
        counts = right[:after].sum(axis=0)
        leader = max(live, key=lambda one: counts[one])
        only = (right[:after, [leader]] & ~right[:after]).sum(axis=0)
        other = (~right[:after, [leader]] & right[:after]).sum(axis=0)
        for one in [one for one in live if one != leader and find_p_value(int(only[one]), int(other[one])) < ALPHA]:
            live.remove(one)
            dropped[one] = after
    return dropped


@cache
def find_p_value(only: int, other: int) -> float:
    return min(1.0, 2 * binomial_cdf(min(only, other), only + other, 0.5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("--data", nargs="+", required=True, metavar="NAME=FILE[,CORPUS]")
    recording.add_argument("--out", type=Path, required=True)
    recording.add_argument("--limit", type=int, default=400)
    recording.add_argument("--methods", default="all")
    replaying = commands.add_parser("replay")
    replaying.add_argument("folder", type=Path)
    replaying.add_argument("--orders", type=int, default=1000)
    options = parser.parse_args()
    if options.command == "record":
        for item in options.data:
            name, _, where = item.partition("=")
            file, _, corpus = where.partition(",")
            try:
                record(name, Path(file), corpus or None, options.out, options.limit, options.methods)
            except SetupError as error:
                raise SystemExit(str(error)) from None
        return
    rows = {file.stem: replay(file, options.orders) for file in sorted(options.folder.glob("*.npz"))}
    table = [
        [name, rule, format_share(saved), format_share(lost)]
        for name, rules in rows.items()
        for rule, (saved, lost) in rules.items()
    ]
    report("decisions", ("set", "rule", "runs saved", "best lost"), table, sets=rows)


if __name__ == "__main__":
    main()
