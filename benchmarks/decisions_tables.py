"""The tables of `python -m benchmarks.decisions replay` in Markdown; a JSON line says which targets were met."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import permutations
from typing import Any

import numpy as np

from benchmarks.decisions_intervals import MARGIN, cover_differences, judge_calibrations, judge_gates, judge_scores
from benchmarks.decisions_recorded import Matrix
from benchmarks.decisions_replay import (
    CASCADE_ERROR,
    CLAIM,
    QUESTIONS,
    most_errors,
    replay_cascades,
    replay_draws,
    replay_orders,
    replay_scripted,
)
from quorum.algorithms.race import RACE_ERROR

MARGINS = (0.05, 0.08)
WRONG_AT_MOST = (0.5, 0.7)
SHOWN = "runs saved / calls saved / all best lost, %"
CASCADES_SHOWN = "certified / calls saved / promise kept, %"
CALIBRATIONS_SHOWN = "given / promise kept / questions answered, %"
FEW = 50  # questions, for intervals and scores
SHIFTED_DRAWS = 10  # a shifted case is replayed this many times less often
Found = Mapping[str, Mapping[str, Mapping[str, float]]]  # set -> rule -> figure


def print_tables(matrices: Sequence[Matrix], orders: int, draws: int, workers: int) -> None:
    """Print every table, each as soon as it is computed."""
    with ProcessPoolExecutor(workers) as pool:

        def start(replay: Callable[..., Any], *arguments: Any, **named: Any) -> dict[str, "Future[Any]"]:
            return {one.name: pool.submit(replay, one, *arguments, **named) for one in matrices}

        jobs = {
            "recorded": start(replay_orders, orders),
            "drawn": start(replay_orders, orders, questions=QUESTIONS),
            "future": start(replay_draws, orders),
            "cascades": start(replay_cascades, draws, MARGINS),
            "intervals": start(cover_differences, orders, FEW),
            "gates": start(judge_gates, orders),
            "calibrations": start(judge_calibrations, orders, WRONG_AT_MOST),
            "scores": start(judge_scores, draws, FEW),
        }
        scripted = pool.submit(replay_scripted, orders)
        shifted = start_shifted(pool, matrices, max(draws // SHIFTED_DRAWS, 4))
        print_sets(matrices)
        found = {}
        for name, title, show in (
            ("recorded", f"The recorded questions, {orders:,} random orders: {SHOWN}", print_rules),
            ("drawn", f"{QUESTIONS} questions at hand, {orders:,} draws with replacement: {SHOWN}", print_rules),
            ("future", f"Questions to come, {orders:,} draws of {QUESTIONS}: {SHOWN}", print_rules),
            ("cascades", f"Cascades, {draws:,} draws of {QUESTIONS}: {CASCADES_SHOWN}", print_cascades),
            ("intervals", f"95% intervals of a difference on {FEW} questions: coverage, %", print_shares),
            ("gates", f"Gates of two random methods on {QUESTIONS} questions, margin {MARGIN:g}, %", print_shares),
            (
                "calibrations",
                f"Calibrated on {QUESTIONS} questions, {orders:,} draws: {CALIBRATIONS_SHOWN}",
                print_limits,
            ),
            ("scores", f"The winner of {FEW} questions: its score less its true score, points", print_points),
        ):
            found[name] = {one: job.result() for one, job in jobs[name].items()}
            show(title, found[name])
        print_rules(f"Scripted tables of {QUESTIONS} questions, {orders:,} each: {SHOWN}", scripted.result())
        print_shifted(shifted)
    verdict = judge_targets(
        [found["recorded"], found["drawn"]],
        found["future"],
        found["cascades"],
        found["calibrations"],
        found["intervals"],
        orders,
        draws,
    )
    print(json.dumps({"benchmark": "decisions", **verdict}))


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


def print_limits(title: str, found: Mapping[str, Mapping[float, Mapping[str, float]]]) -> None:
    rows = [
        [
            f"{limit:.0%} of the answers wrong at most",
            *(" / ".join(percent(value) for value in one[limit].values()) for one in found.values()),
        ]
        for limit in WRONG_AT_MOST
    ]
    print_table(title, ["calibration", *found], rows)


def print_shares(title: str, found: Mapping[str, Mapping[str, float]]) -> None:
    """Figures by sets, in percent."""
    names = list(next(iter(found.values())))
    print_table(title, ["", *found], [[name, *(percent(one[name]) for one in found.values())] for name in names])


def print_points(title: str, found: Mapping[str, Mapping[str, float]]) -> None:
    """Figures by sets, as they are."""
    names = list(next(iter(found.values())))
    print_table(title, ["", *found], [[name, *(f"{one[name]:+.1f}" for one in found.values())] for name in names])


def start_shifted(
    pool: ProcessPoolExecutor, matrices: Sequence[Matrix], draws: int
) -> dict[str, tuple["Future[Any]", "Future[Any]"]]:
    """Decide on one set, ask another: no promise covers this."""
    return {
        f"{one.name} -> {other.name}": (
            pool.submit(replay_cascades, one, draws, MARGINS, truth=other),
            pool.submit(replay_draws, one, draws, truth=other),
        )
        for one, other in permutations(matrices, 2)
        if one.methods == other.methods
    }


def print_shifted(jobs: Mapping[str, tuple["Future[Any]", "Future[Any]"]]) -> None:
    """The mean over all pairs of sets, and the worst pair."""
    if not jobs:
        return
    found = {pair: (cascades.result(), races.result()) for pair, (cascades, races) in jobs.items()}
    rows = []
    for margin in MARGINS:
        broken = {pair: 1 - cascades[margin]["kept"] for pair, (cascades, _) in found.items()}
        rows.append([f"a certified cascade loses more than {100 * margin:g} points", *describe_worst(broken)])
    lost = {pair: races["race future"]["lost"] for pair, (_, races) in found.items()}
    rows.append(["race future: all best lost", *describe_worst(lost)])
    print_table("Decided on one set, asked questions of another, %", ["", "mean", "worst", "of"], rows)


def describe_worst(shares: Mapping[str, float]) -> list[str]:
    worst = max(shares, key=lambda pair: shares[pair])
    return [percent(float(np.mean(list(shares.values())))), percent(shares[worst]), worst]


def judge_targets(
    at_hand: Sequence[Found],
    future: Found,
    cascades: Mapping[str, Mapping[float, Mapping[str, float]]],
    calibrations: Mapping[str, Mapping[float, Mapping[str, float]]],
    intervals: Mapping[str, Mapping[str, float]],
    orders: int,
    draws: int,
) -> dict[str, object]:
    """The targets, and which of them were missed."""
    every = [rules for found in (*at_hand, future) for rules in found.values()]
    ours = [
        (rules[name]["lost"], CLAIM.get(name, RACE_ERROR))
        for rules in every
        for name in rules
        if name.startswith("race")
    ]
    saved = [rules["race questions"]["runs"] for rules in at_hand[-1].values()]
    others = [figures["lost"] for rules in every for name, figures in rules.items() if not name.startswith("race")]
    kept = [one[margin]["kept"] for one in cascades.values() for margin in MARGINS]
    calibrated = [one[limit]["kept"] for one in calibrations.values() for limit in WRONG_AT_MOST]
    wanted = {0.05: 0.15, 0.08: 0.30}
    met = {
        "our rules err at most as claimed": all(lost <= most_errors(claim, orders) for lost, claim in ours),
        f"race questions saves 25% of the runs at {QUESTIONS} questions": min(saved) >= 0.25,
        "another rule errs more than it claims": max(others) > most_errors(RACE_ERROR, orders),
        "cascades keep their promise": all(1 - one <= most_errors(CASCADE_ERROR, draws) for one in kept),
        "calibrations keep their promise": all(1 - one <= most_errors(RACE_ERROR, orders) for one in calibrated),
        "intervals on few questions cover 93.5%": min(one["Tango (ours below 100)"] for one in intervals.values())
        >= 0.935,
    }
    for margin, least in wanted.items():
        enough = sum(one[margin]["saved"] >= least for one in cascades.values())
        met[f"cascades at {margin:g} save {least:.0%} of the calls on 3 sets"] = enough >= min(3, len(cascades))
    return {"met": all(met.values()), "missed": [name for name, value in met.items() if not value], "targets": met}
