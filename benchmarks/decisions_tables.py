"""Prints the tables of `python -m benchmarks.decisions replay` in Markdown, then a JSON line with the targets that were
met.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import permutations
from typing import Any

import numpy as np

from benchmarks.decisions_intervals import (
    GATE_AND_CALIBRATION_ERROR,
    GATE_MARGIN,
    judge_calibrations,
    judge_gates,
    judge_scores,
    measure_coverage,
)
from benchmarks.decisions_recorded import RecordedSet
from benchmarks.decisions_replay import (
    CASCADE_ERROR,
    CLAIMED_ERRORS,
    QUESTIONS_PER_DRAW,
    compute_error_share_allowed_by_chance,
    replay_cascades,
    replay_new_questions,
    replay_random_orders,
    replay_simulated,
)
from quorum.algorithms.race import RACE_ERROR_PROBABILITY

MARGINS = (0.05, 0.08)
WRONG_AT_MOST = (0.5, 0.7)
# A run is one question put to one method.
RULES_CAPTION = "runs saved / calls saved / all of the best methods dropped, %"
CASCADES_CAPTION = "certified / calls saved / promise kept, %"
CALIBRATIONS_CAPTION = "threshold found / promise kept / questions answered, %"
FEW_QUESTIONS = 50  # the number of questions in each draw on which intervals and scores are checked
# A shifted replay decides on one set and measures on another. There are many pairs of sets, so each pair is replayed
# with fewer draws: `draws` divided by this number.
SHIFTED_DRAWS_DIVISOR = 10
FigureTable = Mapping[str, Mapping[str, Mapping[str, float]]]  # set of questions -> rule -> name of a share -> share


def print_tables(recorded_sets: Sequence[RecordedSet], orders: int, draws: int, workers: int) -> None:
    """Print every table as soon as it is computed.

    draws: how often the replays of cascades and of scores draw questions; for pairs of sets, see
    SHIFTED_DRAWS_DIVISOR. orders: how often each of the remaining replays is repeated.
    """
    with ProcessPoolExecutor(workers) as pool:

        def submit_for_each_set(
            replay: Callable[..., Any], *arguments: Any, **options: Any
        ) -> dict[str, "Future[Any]"]:
            return {
                recorded_set.name: pool.submit(replay, recorded_set, *arguments, **options)
                for recorded_set in recorded_sets
            }

        jobs = {
            "recorded": submit_for_each_set(replay_random_orders, orders),
            "drawn": submit_for_each_set(replay_random_orders, orders, questions=QUESTIONS_PER_DRAW),
            "future": submit_for_each_set(replay_new_questions, orders),
            "cascades": submit_for_each_set(replay_cascades, draws, MARGINS),
            "intervals": submit_for_each_set(measure_coverage, orders, FEW_QUESTIONS),
            "gates": submit_for_each_set(judge_gates, orders),
            "calibrations": submit_for_each_set(judge_calibrations, orders, WRONG_AT_MOST),
            "scores": submit_for_each_set(judge_scores, draws, FEW_QUESTIONS),
        }
        simulation_job = pool.submit(replay_simulated, orders)
        shifted_jobs = start_shifted(pool, recorded_sets, max(draws // SHIFTED_DRAWS_DIVISOR, 4))
        print_sets(recorded_sets)
        tables = {}
        for name, title, print_figures in list_tables(orders, draws):
            tables[name] = {set_name: job.result() for set_name, job in jobs[name].items()}
            print_figures(title, tables[name])
        print_rules(
            f"Simulated answers, {orders:,} tables of {QUESTIONS_PER_DRAW} questions: {RULES_CAPTION}",
            simulation_job.result(),
        )
        print_shifted(shifted_jobs)
    verdict = judge_replays(
        tables["recorded"],
        tables["drawn"],
        tables["future"],
        tables["cascades"],
        tables["calibrations"],
        tables["intervals"],
        orders,
        draws,
    )
    print(json.dumps({"benchmark": "decisions", **verdict}))


def list_tables(orders: int, draws: int) -> list[tuple[str, str, Callable[..., None]]]:
    """(name of the replay, title of its table, function that prints the table) for each replay of every set."""
    return [
        ("recorded", f"The recorded questions, {orders:,} random orders: {RULES_CAPTION}", print_rules),
        (
            "drawn",
            f"{orders:,} draws of {QUESTIONS_PER_DRAW} questions, judged by the best methods of the draw: "
            f"{RULES_CAPTION}",
            print_rules,
        ),
        (
            "future",
            f"{orders:,} draws of {QUESTIONS_PER_DRAW} questions, judged by the best methods of the whole set: "
            f"{RULES_CAPTION}",
            print_rules,
        ),
        ("cascades", f"Cascades, {draws:,} draws of {QUESTIONS_PER_DRAW}: {CASCADES_CAPTION}", print_cascades),
        ("intervals", f"95% intervals of a difference on {FEW_QUESTIONS} questions: coverage, %", print_shares),
        (
            "gates",
            f"Verdicts of a gate on two random methods, {QUESTIONS_PER_DRAW} questions, margin {GATE_MARGIN:g}, %",
            print_shares,
        ),
        (
            "calibrations",
            f"Calibrated on {QUESTIONS_PER_DRAW} questions, {orders:,} draws: {CALIBRATIONS_CAPTION}",
            print_calibrations,
        ),
        (
            "scores",
            f"The winner on {FEW_QUESTIONS} questions: the estimate of its score minus its true score, points",
            print_points,
        ),
    ]


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print(f"\n{title}\n")
    for row in (header, ["---", *["--:"] * (len(header) - 1)], *rows):
        print(f"| {' | '.join(row)} |", flush=True)


def format_percent(value: float) -> str:
    return f"{100 * value:.1f}"


def print_sets(recorded_sets: Sequence[RecordedSet]) -> None:
    """Print for each set what was recorded and which method is best."""
    rows = []
    for recorded_set in recorded_sets:
        means = recorded_set.right_by_question.mean(axis=0)
        best = [recorded_set.methods[index] for index in np.flatnonzero(means >= means.max() - 1e-9)]
        unknown, failed_count = recorded_set.arrays["unknown"].mean(), int(recorded_set.arrays["failed"].sum())
        questions, methods = recorded_set.right_by_question.shape
        cells = [
            f"{questions}",
            f"{methods}",
            f"{', '.join(best)} ({format_percent(means.max())})",
            format_percent(means.min()),
        ]
        rows.append(
            [
                recorded_set.name,
                *cells,
                format_percent(unknown),
                f"{failed_count}",
                str(recorded_set.about["model"]["model"]),
            ]
        )
    header = ["set", "questions", "methods", "best (EM, %)", "worst", "unknown, %", "failed", "reader"]
    print_table("What was recorded", header, rows)


def print_rules(title: str, figures_of_sets: FigureTable) -> None:
    """Print a table with a row for each stopping rule and a column for each set.

    RULES_CAPTION names the shares in a cell.
    """
    rules = list(next(iter(figures_of_sets.values())))
    rows = [
        [
            rule,
            *(
                " / ".join(
                    format_percent(figures[rule][name]) for name in ("saved_runs", "saved_calls", "all_best_dropped")
                )
                for figures in figures_of_sets.values()
            ),
        ]
        for rule in rules
    ]
    print_table(title, ["rule", *figures_of_sets], rows)


def print_cascades(title: str, figures_of_sets: Mapping[str, Mapping[float, Mapping[str, float]]]) -> None:
    """Print a table with a row for each margin and a column for each set. A cell holds the shares that CASCADES_CAPTION
    names, which `replay_cascades` returns in this order.
    """
    rows = [
        [
            f"loses {100 * margin:g} points at most",
            *(
                " / ".join(format_percent(value) for value in figures[margin].values())
                for figures in figures_of_sets.values()
            ),
        ]
        for margin in MARGINS
    ]
    print_table(title, ["cascade", *figures_of_sets], rows)


def print_calibrations(title: str, figures_of_sets: Mapping[str, Mapping[float, Mapping[str, float]]]) -> None:
    """Print a table with a row for each promised share of wrong answers and a column for each set. A cell holds the
    shares that CALIBRATIONS_CAPTION names, which `judge_calibrations` returns in this order.
    """
    rows = [
        [
            f"at most {limit:.0%} of the answers wrong",
            *(
                " / ".join(format_percent(value) for value in figures[limit].values())
                for figures in figures_of_sets.values()
            ),
        ]
        for limit in WRONG_AT_MOST
    ]
    print_table(title, ["calibration", *figures_of_sets], rows)


def print_shares(title: str, figures_of_sets: Mapping[str, Mapping[str, float]]) -> None:
    """Print a table with a row for each named share, in percent, and a column for each set."""
    names = list(next(iter(figures_of_sets.values())))
    print_table(
        title,
        ["", *figures_of_sets],
        [[name, *(format_percent(figures[name]) for figures in figures_of_sets.values())] for name in names],
    )


def print_points(title: str, figures_of_sets: Mapping[str, Mapping[str, float]]) -> None:
    """Print a table with a row for each estimate of the winner's score and a column for each set. A cell holds by how
    many percentage points the estimate is too high.
    """
    names = list(next(iter(figures_of_sets.values())))
    print_table(
        title,
        ["", *figures_of_sets],
        [[name, *(f"{figures[name]:+.1f}" for figures in figures_of_sets.values())] for name in names],
    )


def start_shifted(
    pool: ProcessPoolExecutor, recorded_sets: Sequence[RecordedSet], draws: int
) -> dict[str, tuple["Future[Any]", "Future[Any]"]]:
    """Start two replays for each ordered pair of sets with the same methods: one of cascades and one of races. Both
    decide on the questions of the first set and measure errors on those of the second; no promise covers this.

    Returns {"FIRST -> SECOND": (cascades, races)}.
    """
    return {
        f"{recorded_set.name} -> {other_set.name}": (
            pool.submit(replay_cascades, recorded_set, draws, MARGINS, truth=other_set),
            pool.submit(replay_new_questions, recorded_set, draws, truth=other_set),
        )
        for recorded_set, other_set in permutations(recorded_sets, 2)
        if recorded_set.methods == other_set.methods
    }


def print_shifted(jobs: Mapping[str, tuple["Future[Any]", "Future[Any]"]]) -> None:
    """Print how often decisions err on another set: the mean over all pairs of sets, and the worst pair."""
    if not jobs:
        return
    results_of_pairs = {pair: (cascades.result(), races.result()) for pair, (cascades, races) in jobs.items()}
    rows = []
    for margin in MARGINS:
        broken_shares = {pair: 1 - cascades[margin]["promise_kept"] for pair, (cascades, _) in results_of_pairs.items()}
        rows.append(
            [f"a certified cascade loses more than {100 * margin:g} points", *format_mean_and_worst(broken_shares)]
        )
    # "race future" drops a method that is unlikely to be the best on new questions (`quorum compare --race future`).
    dropped_shares = {pair: races["race future"]["all_best_dropped"] for pair, (_, races) in results_of_pairs.items()}
    rows.append(["race future: all of the best methods dropped", *format_mean_and_worst(dropped_shares)])
    print_table(
        "Decisions made on one set, errors on another set, %",
        ["", "mean over the pairs", "worst pair", "which pair"],
        rows,
    )


def format_mean_and_worst(shares: Mapping[str, float]) -> list[str]:
    """Three cells: the mean share of all pairs of sets, the worst share, and its pair."""
    worst = max(shares, key=lambda pair: shares[pair])
    return [format_percent(float(np.mean(list(shares.values())))), format_percent(shares[worst]), worst]


def judge_replays(
    recorded: FigureTable,
    drawn: FigureTable,
    future: FigureTable,
    cascades: Mapping[str, Mapping[float, Mapping[str, float]]],
    calibrations: Mapping[str, Mapping[float, Mapping[str, float]]],
    intervals: Mapping[str, Mapping[str, float]],
    orders: int,
    draws: int,
) -> dict[str, object]:
    """Whether all targets are met ("met"), the names of the missed targets ("missed"), and for each target whether it
    is met ("targets").

    orders, draws: the repetitions of each replay. The fewer there are, the further chance may raise a share of errors
    above the claimed one.
    """
    all_rules = [rules for rules_of_sets in (recorded, drawn, future) for rules in rules_of_sets.values()]
    our_errors_and_claims = [
        (rules[name]["all_best_dropped"], CLAIMED_ERRORS.get(name, RACE_ERROR_PROBABILITY))
        for rules in all_rules
        for name in rules
        if name.startswith("race")
    ]
    saved_shares = [rules["race questions"]["saved_runs"] for rules in drawn.values()]
    errors_of_other_rules = [
        figures["all_best_dropped"]
        for rules in all_rules
        for name, figures in rules.items()
        if not name.startswith("race")
    ]
    cascade_kept_shares = [figures[margin]["promise_kept"] for figures in cascades.values() for margin in MARGINS]
    calibration_kept_shares = [
        figures[limit]["promise_kept"] for figures in calibrations.values() for limit in WRONG_AT_MOST
    ]
    saving_targets = {0.05: 0.15, 0.08: 0.30}
    targets = {
        "our rules err at most as claimed": all(
            error_share <= compute_error_share_allowed_by_chance(claim, orders)
            for error_share, claim in our_errors_and_claims
        ),
        f"the rule 'race questions' saves 25% of the runs at {QUESTIONS_PER_DRAW} questions": min(saved_shares) >= 0.25,
        # The rules that others use (RULES in decisions_rules.py) are expected to err: the replay must show this.
        "another rule errs more than it claims": max(errors_of_other_rules)
        > compute_error_share_allowed_by_chance(RACE_ERROR_PROBABILITY, orders),
        "cascades keep their promise": all(
            1 - share <= compute_error_share_allowed_by_chance(CASCADE_ERROR, draws) for share in cascade_kept_shares
        ),
        "calibrations keep their promise": all(
            1 - share <= compute_error_share_allowed_by_chance(GATE_AND_CALIBRATION_ERROR, orders)
            for share in calibration_kept_shares
        ),
        "intervals on few questions cover 93.5%": min(
            shares["Tango (compare uses it below 100 questions)"] for shares in intervals.values()
        )
        >= 0.935,
    }
    for margin, min_saved in saving_targets.items():
        saving_set_count = sum(figures[margin]["saved"] >= min_saved for figures in cascades.values())
        targets[f"cascades at {margin:g} save {min_saved:.0%} of the calls on 3 sets"] = saving_set_count >= min(
            3, len(cascades)
        )
    missed_targets = [name for name, is_met in targets.items() if not is_met]
    return {"met": not missed_targets, "missed": missed_targets, "targets": targets}
