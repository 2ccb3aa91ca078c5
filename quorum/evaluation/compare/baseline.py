"""Compares methods with a baseline, question by question: differences, intervals, tests."""

from collections.abc import Mapping, Sequence

import numpy as np
from typing_extensions import TypedDict

from quorum.algorithms.paired import compute_paired_interval
from quorum.core.errors import SetupError
from quorum.evaluation.metrics.registry import WORTH_MEASURE, is_binary, list_compared_measures
from quorum.evaluation.metrics.statistics import (
    Floats,
    Interval,
    adjust_p_values,
    compute_bootstrap_interval,
    compute_mcnemar_p_value,
    compute_sign_flip_p_value,
    count_questions_needed,
)
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.race_result import RaceResult

DIGITS = 6  # after the decimal point, in a `Difference`
FEWEST_FOR_BOOTSTRAP = 100  # questions


class Difference(TypedDict):
    """A method's mean minus the baseline's, over the same questions, with its 95% interval.

    test: "mcnemar" for a measure that is 0 or 1, "sign flip" for any other measure. But if a race dropped one of the
    two methods, or has not ended, `test` is "race": the interval holds at every moment of the race, and p and p_holm
    are 1. p_holm: p adjusted for the number of methods compared. questions_needed: how many questions would make the
    difference significant with power 0.8 and alpha 0.05; null if `test` is "race", if the means are equal, or if there
    are fewer than two questions.
    """

    difference: float
    low: float
    high: float
    test: str
    p: float
    p_holm: float
    questions_needed: int | None


class Comparison(TypedDict):
    """Methods against the baseline, over the `n` questions that all of them answered.

    A method with the test "race" need not have answered these questions: it is compared over the questions that it and
    the baseline answered. left_out: how many questions were answered by the baseline or a method without the test
    "race", but not by all of them; methods: for each method, by name, its difference in each measure, by the measure's
    name, over the questions that have the measure.
    """

    baseline: str
    n: int
    left_out: int
    methods: dict[str, dict[str, Difference]]


def compare_with_baseline(
    scores: Mapping[str, ColumnScores], names: Sequence[str], baseline: str, race: RaceResult | None = None
) -> Comparison:
    """Compare the methods `names` with `baseline`, which is one of them.

    scores: by method. race: a method has the test "race", with p = 1, if the race dropped it or the baseline, or has
    not ended. The p-values are adjusted for all methods in `names`, including those with the test "race".
    """
    untested_names = [] if race is None else [name for name in names if is_untestable(race, name, baseline)]
    tested_names = [name for name in names if name not in untested_names]  # including the baseline
    id_sets = [set(scores[name].ids) for name in tested_names]
    common_ids = sorted(set.intersection(*id_sets))
    compared_names = [name for name in tested_names if name != baseline]
    differences_by_method: dict[str, dict[str, Difference]] = {name: {} for name in names if name != baseline}
    if race is not None:
        for name in untested_names:
            differences_by_method[name] = compute_race_differences(
                scores[name], scores[baseline], race, (name, baseline)
            )
    for measure in list_compared_measures():
        if any(measure not in scores[name].values for name in tested_names):
            continue
        values = {name: scores[name].get_values(measure, common_ids) for name in tested_names}
        is_defined = ~np.isnan(np.stack(list(values.values()))).any(axis=0)
        if not compared_names or not is_defined.any():
            continue
        differences = compute_differences(
            [values[name][is_defined] for name in compared_names],
            values[baseline][is_defined],
            binary=is_binary(measure),
            untested_count=len(untested_names),
            largest_difference=1 + scores[baseline].wrong_cost if measure == WORTH_MEASURE else 1.0,
        )
        for name, difference in zip(compared_names, differences, strict=True):
            differences_by_method[name][measure] = difference
    return Comparison(
        baseline=baseline,
        n=len(common_ids),
        left_out=len(set.union(*id_sets)) - len(common_ids),
        methods=differences_by_method,
    )


def is_untestable(race: RaceResult, name: str, baseline: str) -> bool:
    """Whether the method `name` cannot be tested against the baseline on a fixed set of questions, because the race
    dropped one of the two or has not ended. False for the baseline itself.
    """
    return name != baseline and (not race.is_finished or race.is_dropped(name) or race.is_dropped(baseline))


def compute_race_differences(
    scores: ColumnScores, baseline_scores: ColumnScores, race: RaceResult, names: tuple[str, str]
) -> dict[str, Difference]:
    """The differences of a method from the baseline, by measure, over the questions that both answered.

    Their intervals hold at every moment of the race. names: the method and the baseline. A measure is left out if the
    differences cannot be scaled to [-1, 1], as the intervals require.
    """
    asked_count = min(race.standings[name].asked_count for name in names)
    result: dict[str, Difference] = {}
    for measure in list_compared_measures():
        if measure not in scores.values or measure not in baseline_scores.values:
            continue
        values, baseline_values = (
            dict(zip(column.ids, column.values[measure], strict=True)) for column in (scores, baseline_scores)
        )
        differences = {id_: values[id_] - baseline_values[id_] for id_ in values.keys() & baseline_values.keys()}
        largest_difference = 1 + scores.wrong_cost if measure == WORTH_MEASURE else 1.0
        scaled_differences = {
            id_: difference / largest_difference for id_, difference in differences.items() if not np.isnan(difference)
        }
        if scaled_differences and all(abs(difference) <= 1 for difference in scaled_differences.values()):
            low, high = race.compute_anytime_interval(scaled_differences, asked_count)
            result[measure] = Difference(
                difference=round(largest_difference * float(np.mean(list(scaled_differences.values()))), DIGITS),
                low=round(largest_difference * low, DIGITS),
                high=round(largest_difference * high, DIGITS),
                test="race",
                p=1.0,
                p_holm=1.0,
                questions_needed=None,
            )
    return result


def compute_differences(
    values_by_method: Sequence[Floats],
    baseline_values: Floats,
    *,
    binary: bool,
    untested_count: int = 0,
    largest_difference: float = 1.0,
) -> list[Difference]:
    """The difference of each method from the baseline in one measure.

    values_by_method: for each method, its value on each question, in the same order as `baseline_values`. binary:
    whether every value is 0 or 1. untested_count: the p-values are adjusted for this many further methods, each with
    p = 1. largest_difference: the largest possible difference between the values of two answers.
    """
    p_values = [
        compute_mcnemar_p_value(values, baseline_values)
        if binary
        else compute_sign_flip_p_value(values - baseline_values)
        for values in values_by_method
    ]
    test = "mcnemar" if binary else "sign flip"
    return [
        make_difference(values - baseline_values, test, p, adjusted_p, largest_difference)
        for values, p, adjusted_p in zip(
            values_by_method,
            p_values,
            adjust_p_values([*p_values, *[1.0] * untested_count])[: len(p_values)],
            strict=True,
        )
    ]


def compute_interval(differences: Floats, largest_difference: float = 1.0) -> Interval:
    """The mean of the differences, and its 95% interval.

    With fewer than FEWEST_FOR_BOOTSTRAP questions a bootstrap interval would be too narrow, so the interval is that of
    `compute_paired_interval`, which is valid on few questions as well.
    """
    if len(differences) >= FEWEST_FOR_BOOTSTRAP:
        return compute_bootstrap_interval(differences)
    low, high = compute_paired_interval(differences / largest_difference)
    return Interval(float(differences.mean()), largest_difference * low, largest_difference * high)


def make_difference(
    differences: Floats, test: str, p: float, p_holm: float, largest_difference: float = 1.0
) -> Difference:
    """The `Difference` of a method whose values differ from the baseline's by `differences`, question by question."""
    mean, low, high = (round(number, DIGITS) for number in compute_interval(differences, largest_difference))
    return Difference(
        difference=mean,
        low=low,
        high=high,
        test=test,
        p=round(p, DIGITS),
        p_holm=round(p_holm, DIGITS),
        questions_needed=count_questions_needed(differences),
    )


def check_baseline(groups: Sequence[Sequence[str]], baseline: str | None) -> None:
    """Raises `SetupError` if the baseline is not one of the methods. groups: the names of the methods in each group."""
    names = [name for group in groups for name in group]
    if baseline is not None and baseline not in names:
        raise SetupError(f"The baseline {baseline!r} is not one of the methods; name one of: {', '.join(names)}.")


def compare_within_groups(
    scores: Mapping[str, ColumnScores],
    groups: Sequence[Sequence[str]],
    baseline: str | None = None,
    race: RaceResult | None = None,
) -> list[Comparison]:
    """Compare the methods of each group with its first method, or with `baseline` if the group contains it.

    groups: for each group, the names of the columns that are compared with one another (see `Column.group`). A group of
    one method has no comparison.
    """
    return [
        compare_with_baseline(scores, group, baseline if baseline is not None and baseline in group else group[0], race)
        for group in groups
        if len(group) > 1
    ]
