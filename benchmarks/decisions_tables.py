"""The tables of `python -m benchmarks.decisions replay` in Markdown; a JSON line says which targets were met."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations

import numpy as np

from benchmarks.decisions_intervals import MARGIN, cover_differences, judge_gates, judge_scores
from benchmarks.decisions_recorded import Matrix
from benchmarks.decisions_replay import (
    CASCADE_ERROR,
    CLAIM,
    most_errors,
    replay_cascades,
    replay_draws,
    replay_orders,
    replay_scripted,
)
from quorum.algorithms.race import ERROR

MARGINS = (0.05, 0.08)
FEW = 50  # questions, for intervals and scores
SHIFTED_DRAWS = 5  # a shifted case is replayed this many times less often
Found = Mapping[str, Mapping[str, Mapping[str, float]]]  # set -> rule -> figure


def print_tables(matrices: Sequence[Matrix], orders: int, draws: int) -> None:
    """Print every table, each as soon as it is computed."""
    print_sets(matrices)
    in_order = {one.name: replay_orders(one, orders) for one in matrices}
    print_rules(f"These questions, {orders:,} random orders: runs saved / calls saved / all best lost, %", in_order)
    future = {one.name: replay_draws(one, orders) for one in matrices}
    print_rules(
        f"New questions, {orders:,} draws with replacement: runs saved / calls saved / all best lost, %", future
    )
    cascades = {one.name: replay_cascades(one, draws, MARGINS) for one in matrices}
    print_cascades(f"Cascades, {draws:,} draws: certified / calls saved / promise kept, %", cascades)
    intervals = {one.name: cover_differences(one, orders, FEW) for one in matrices}
    print_figures(f"95% intervals of a difference on {FEW} questions: coverage, %", intervals, 100)
    gates = {one.name: judge_gates(one, orders) for one in matrices}
    print_figures(f"Gates of two random methods, margin {MARGIN:g}: verdicts, %", gates, 100)
    scores = {one.name: judge_scores(one, draws, FEW) for one in matrices}
    print_figures(f"The winner of {FEW} questions: its score less its true score, points", scores, 1)
    scripted = replay_scripted(orders)
    print_rules(
        f"Scripted tables of {400} questions, {orders:,} each: runs saved / calls saved / all best lost, %", scripted
    )
    print_shifted(matrices, max(draws // SHIFTED_DRAWS, 10))
    print(json.dumps({"benchmark": "decisions", **judge_targets(in_order, future, cascades, intervals, orders, draws)}))


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print(f"\n{title}\n")
    for row in (header, ["---", *["--:"] * (len(header) - 1)], *rows):
        print(f"| {' | '.join(row)} |", flush=True)


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def print_sets(matrices: Sequence[Matrix]) -> None:
    """What was recorded, and the best method of each set."""
    rows = []
    for one in matrices:
        means = one.right.mean(axis=0)
        best = [one.methods[place] for place in np.flatnonzero(means >= means.max() - 1e-9)]
        unknown, failed = one.arrays["unknown"].mean(), int(one.arrays["failed"].sum())
        questions, methods = one.right.shape
        cells = [f"{questions}", f"{methods}", f"{', '.join(best)} ({percent(means.max())})", percent(means.min())]
        rows.append([one.name, *cells, percent(unknown), f"{failed}", str(one.about["model"]["model"])])
    header = ["set", "questions", "methods", "best (EM, %)", "worst", "unknown, %", "failed", "weights and reader"]
    print_table("What was recorded", header, rows)


def print_rules(title: str, found: Found) -> None:
    """Rules by sets."""
    rules = list(next(iter(found.values())))
    rows = [
        [rule, *(" / ".join(percent(one[rule][name]) for name in ("runs", "calls", "lost")) for one in found.values())]
        for rule in rules
    ]
    print_table(title, ["rule", *found], rows)


def print_cascades(title: str, found: Mapping[str, Mapping[float, Mapping[str, float]]]) -> None:
    rows = [
        [
            f"loses {100 * margin:g} points at most",
            *(" / ".join(percent(value) for value in one[margin].values()) for one in found.values()),
        ]
        for margin in MARGINS
    ]
    print_table(title, ["cascade", *found], rows)


def print_figures(title: str, found: Mapping[str, Mapping[str, float]], scale: float) -> None:
    names = list(next(iter(found.values())))
    rows = [[name, *(f"{scale * one[name]:.1f}" for one in found.values())] for name in names]
    print_table(title, ["", *found], rows)


def print_shifted(matrices: Sequence[Matrix], draws: int) -> None:
    """Decide on one set, ask another: no promise covers this."""
    pairs = [(one, other) for one, other in permutations(matrices, 2) if one.methods == other.methods]
    if not pairs:
        return
    rows = []
    for margin in MARGINS:
        kept = [
            (replay_cascades(one, draws, [margin], truth=other)[margin]["kept"], f"{one.name} -> {other.name}")
            for one, other in pairs
        ]
        worst = min(kept)
        mean = float(np.mean([value for value, _ in kept]))
        rows.append([f"cascade, {100 * margin:g} points: promise kept", percent(mean), percent(worst[0]), worst[1]])
    lost = [
        (replay_draws(one, draws, truth=other)["race future"]["lost"], f"{one.name} -> {other.name}")
        for one, other in pairs
    ]
    mean, most = float(np.mean([value for value, _ in lost])), max(lost)
    rows.append(["race future: all best lost", percent(mean), percent(most[0]), most[1]])
    title = f"Decided on one set, asked questions of another, {draws} draws of each of {len(pairs)} pairs, %"
    print_table(title, ["", "mean", "worst", "of"], rows)


def judge_targets(
    in_order: Found,
    future: Found,
    cascades: Mapping[str, Mapping[float, Mapping[str, float]]],
    intervals: Mapping[str, Mapping[str, float]],
    orders: int,
    draws: int,
) -> dict[str, object]:
    """The targets, and which of them were missed."""
    ours = [
        (rules[name]["lost"], CLAIM.get(name, ERROR))
        for rules in (*in_order.values(), *future.values())
        for name in rules
        if name.startswith("race")
    ]
    saved = [rules["race questions"]["runs"] for rules in in_order.values()]
    others = [
        figures["lost"]
        for rules in (*in_order.values(), *future.values())
        for name, figures in rules.items()
        if not name.startswith("race")
    ]
    kept = [one[margin]["kept"] for one in cascades.values() for margin in MARGINS]
    wanted = {0.05: 0.15, 0.08: 0.30}
    met = {
        "our rules err at most as claimed": all(lost <= most_errors(claim, orders) for lost, claim in ours),
        "race questions saves 25% of the runs": min(saved) >= 0.25,
        "another rule errs more than it claims": max(others) > most_errors(ERROR, orders),
        "cascades keep their promise": all(1 - one <= most_errors(CASCADE_ERROR, draws) for one in kept),
        "intervals on few questions cover 93.5%": min(one["Tango (ours below 100)"] for one in intervals.values())
        >= 0.935,
    }
    for margin, least in wanted.items():
        enough = sum(one[margin]["saved"] >= least for one in cascades.values())
        met[f"cascades at {margin:g} save {least:.0%} of the calls on 3 sets"] = enough >= min(3, len(cascades))
    return {"met": all(met.values()), "missed": [name for name, value in met.items() if not value], "targets": met}
