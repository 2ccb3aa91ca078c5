"""Prints the tables of `python -m benchmarks.decisions simulate` in Markdown, then a JSON line with the targets met."""

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from benchmarks.decisions_recorded import RecordedSet
from benchmarks.decisions_replay import compute_error_share_allowed_by_chance
from benchmarks.decisions_simulated import (
    Case,
    judge_baseline,
    judge_claims,
    judge_mean_intervals,
    judge_questions_needed,
    list_equal_cases,
    list_mean_cases,
    make_documents,
    make_drawn,
    make_f1,
    make_right_or_wrong,
)
from quorum.algorithms.best_set import ALPHA

LEAST_COVERAGE = 0.935
POWER_QUESTIONS = (100, 400)
Figures = dict[str, float]


def list_power_cases(recorded_sets: Sequence[RecordedSet]) -> list[Case]:
    """Draws from the recorded sets, in which most methods are truly behind."""
    return [make_drawn(recorded_set, questions) for recorded_set in recorded_sets for questions in POWER_QUESTIONS]


def list_baseline_cases() -> list[Case]:
    """Equal methods, the first of them the baseline."""
    return [
        *(make_right_or_wrong([0.5] * 23, questions) for questions in (20, 50, 200)),
        make_right_or_wrong([0.9] * 23, 50),
        make_f1(10, 50),
        make_documents(20, 10, 0.3),
    ]


def judge_equal_case(place: int, recorded_sets: Sequence[RecordedSet], repetitions: int) -> Figures:
    return judge_claims(list_equal_cases(recorded_sets)[place], repetitions)


def judge_power_case(place: int, recorded_sets: Sequence[RecordedSet], repetitions: int) -> Figures:
    return judge_claims(list_power_cases(recorded_sets)[place], repetitions)


def judge_baseline_case(place: int, repetitions: int) -> Figures:
    return judge_baseline(list_baseline_cases()[place], repetitions)


def judge_mean_case(place: int, repetitions: int) -> Figures:
    return judge_mean_intervals(*list_mean_cases()[place], repetitions)


def simulate(recorded_sets: Sequence[RecordedSet], repetitions: int, workers: int) -> None:
    """Compute and print all tables. repetitions: of each case; the power is measured with a fifth as many draws."""
    equal_cases, power_cases = list_equal_cases(recorded_sets), list_power_cases(recorded_sets)
    baseline_cases, mean_cases = list_baseline_cases(), list_mean_cases()
    fewer = max(1, repetitions // 5)
    with ProcessPoolExecutor(workers) as pool:
        equal = pool.map(
            partial(judge_equal_case, recorded_sets=recorded_sets, repetitions=repetitions), range(len(equal_cases))
        )
        power = pool.map(
            partial(judge_power_case, recorded_sets=recorded_sets, repetitions=fewer), range(len(power_cases))
        )
        baseline = pool.map(partial(judge_baseline_case, repetitions=repetitions), range(len(baseline_cases)))
        means = pool.map(partial(judge_mean_case, repetitions=repetitions), range(len(mean_cases)))
        needed = pool.map(partial(judge_questions_needed, repetitions=fewer), recorded_sets)
        equal_figures = print_table(
            f"Equal methods, {repetitions:,} comparisons each: comparisons with a false claim, %",
            [case.name for case in equal_cases],
            equal,
            {"false": "now", "former_false": "before"},
        )
        power_figures = print_table(
            f"Recorded sets, {fewer:,} draws each: methods truly behind that are named; draws with a false claim, %",
            [case.name for case in power_cases],
            power,
            {
                "power": "named now",
                "former_power": "named before",
                "false": "false now",
                "former_false": "false before",
            },
        )
        baseline_figures = print_table(
            f"A fixed baseline, all methods equal, {repetitions:,} comparisons each, %",
            [case.name for case in baseline_cases],
            baseline,
            {
                "false": "a difference is found",
                "winner": "the winner's interval covers 0",
                "all": "all intervals cover 0",
                "former_winner": "the winner's, before",
            },
        )
        mean_figures = print_table(
            f"95% intervals of a mean, {repetitions:,} samples each: coverage, %",
            [case.name for case, _ in mean_cases],
            means,
            {"today": "now", "former": "before (percentile bootstrap)"},
        )
        print_table(
            f'"About N questions would be enough", after 100 questions, {fewer:,} draws each, %',
            [recorded_set.name for recorded_set in recorded_sets],
            needed,
            {
                "enough": "N is no more than 100, now",
                "former_enough": "before",
                "named": "named on N new questions, now",
                "former_named": "before ",
            },
        )
    allowed = compute_error_share_allowed_by_chance(ALPHA, repetitions)
    covered = [*(item["winner"] for item in baseline_figures), *(item["today"] for item in mean_figures)]
    verdict = {
        "benchmark": "decisions_simulated",
        "repetitions": repetitions,
        "largest_false_claims": max(item["false"] for item in equal_figures),
        "allowed_false_claims": round(allowed, 4),
        "false_claims_within_limit": all(item["false"] <= allowed for item in equal_figures),
        "power_at_least_as_before": sum(item["power"] >= item["former_power"] for item in power_figures),
        "of": len(power_figures),
        "least_coverage": min(covered),
        "coverage_target_met": min(covered) >= LEAST_COVERAGE,
    }
    print(json.dumps(verdict))


def print_table(title: str, names: Sequence[str], results: Iterable[Figures], columns: dict[str, str]) -> list[Figures]:
    """Print a table with a row for each case, as the results arrive; returns the results."""
    print(f"\n{title}\n")
    print(f"| | {' | '.join(columns.values())} |")
    print(f"|---|{'--:|' * len(columns)}")
    figures = []
    for name, item in zip(names, results, strict=True):
        cells = " | ".join(f"{100 * item[key]:.1f}" for key in columns)
        print(f"| {name} | {cells} |", flush=True)
        figures.append(item)
    return figures
