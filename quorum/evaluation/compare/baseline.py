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

COMPARED_DIGITS = 6
FEW_QUESTIONS = 100


class Difference(TypedDict):
    """A method's mean minus the baseline's, over the same questions, with its 95% interval.

    test: "mcnemar" for a measure that is 0 or 1, else "sign flip"; "race" if a race dropped one of the two methods or
    has not ended: the interval then holds at every moment of the race, and p and p_holm are 1. p_holm: p adjusted for
    the number of methods compared. questions_needed: how many questions would make the difference significant with
    power 0.8 and alpha 0.05; null for the test "race", if the means are equal, and with fewer than two questions.
    """

    difference: float
    low: float
    high: float
    test: str
    p: float
    p_holm: float
    questions_needed: int | None


class Comparison(TypedDict):
    """Methods against the baseline, over the `n` questions that all of them answered; dropped methods do not count.

    left_out: questions that only some of these methods answered; methods: by name, the difference in each measure, over
    the questions that have the measure.
    """

    baseline: str
    n: int
    left_out: int
    methods: dict[str, dict[str, Difference]]


def compare_with_baseline(
    scores: Mapping[str, ColumnScores], names: Sequence[str], baseline: str, race: RaceResult | None = None
) -> Comparison:
    """Compare the methods `names` with `baseline`, which is one of them.

    race: a method has p = 1 if the race dropped it or the baseline, or has not ended. The p-values are adjusted for all
    methods in `names`, with those that the race dropped.
    """
    untested_names = [] if race is None else [name for name in names if cannot_be_tested(race, name, baseline)]
    all_names, names = names, [name for name in names if name not in untested_names]
    id_sets = [set(scores[name].ids) for name in names]
    common = sorted(set.intersection(*id_sets))
    compared_names = [name for name in names if name != baseline]
    compared_methods: dict[str, dict[str, Difference]] = {name: {} for name in all_names if name != baseline}
    if race is not None:
        for name in untested_names:
            compared_methods[name] = compute_race_differences(scores[name], scores[baseline], race, (name, baseline))
    for measure in (
        candidate for candidate in list_compared_measures() if all(candidate in scores[name].values for name in names)
    ):
        values = {name: scores[name].get_values(measure, common) for name in names}
        is_defined = ~np.isnan(np.stack(list(values.values()))).any(axis=0)
        if not compared_names or not is_defined.any():
            continue
        base = values[baseline][is_defined]
        differences = compute_differences(
            [values[name][is_defined] for name in compared_names],
            base,
            binary=is_binary(measure),
            untested_count=len(untested_names),
            largest_difference=1 + scores[baseline].wrong_cost if measure == WORTH_MEASURE else 1.0,
        )
        for name, difference in zip(compared_names, differences, strict=True):
            compared_methods[name][measure] = difference
    return Comparison(
        baseline=baseline, n=len(common), left_out=len(set.union(*id_sets)) - len(common), methods=compared_methods
    )


def cannot_be_tested(race: RaceResult, name: str, baseline: str) -> bool:
    """Whether two methods of a race cannot be tested on a fixed set of questions, because the race dropped one of them
    or has not ended.
    """
    return name != baseline and (not race.finished or race.is_dropped(name) or race.is_dropped(baseline))


def compute_race_differences(
    scores: ColumnScores, base: ColumnScores, race: RaceResult, names: tuple[str, str]
) -> dict[str, Difference]:
    """The differences of two methods over the questions that both were asked, with anytime intervals."""
    asked_count = min(race.standings[name].asked for name in names)
    result: dict[str, Difference] = {}
    for measure in list_compared_measures():
        if measure not in scores.values or measure not in base.values:
            continue
        values, others = (dict(zip(column.ids, column.values[measure], strict=True)) for column in (scores, base))
        differences = {id_: values[id_] - others[id_] for id_ in values.keys() & others.keys()}
        largest_difference = 1 + scores.wrong_cost if measure == WORTH_MEASURE else 1.0
        scaled_values = {id_: value / largest_difference for id_, value in differences.items() if not np.isnan(value)}
        if scaled_values and all(abs(value) <= 1 for value in scaled_values.values()):
            low, high = race.compute_anytime_interval(scaled_values, asked_count)
            result[measure] = Difference(
                difference=round(largest_difference * float(np.mean(list(scaled_values.values()))), COMPARED_DIGITS),
                low=round(largest_difference * low, COMPARED_DIGITS),
                high=round(largest_difference * high, COMPARED_DIGITS),
                test="race",
                p=1.0,
                p_holm=1.0,
                questions_needed=None,
            )
    return result


def compute_differences(
    methods: Sequence[Floats], base: Floats, *, binary: bool, untested_count: int = 0, largest_difference: float = 1.0
) -> list[Difference]:
    """The difference of each method from the baseline in one measure. binary: an answer is right or wrong.
    untested_count: how many further methods, each with p = 1, the p-values are adjusted for. largest_difference: the
    largest possible difference of two answers.
    """
    p_values = [
        compute_mcnemar_p_value(values, base) if binary else compute_sign_flip_p_value(values - base)
        for values in methods
    ]
    test = "mcnemar" if binary else "sign flip"
    return [
        make_difference(values - base, test, p, adjusted_p, largest_difference)
        for values, p, adjusted_p in zip(
            methods, p_values, adjust_p_values([*p_values, *[1.0] * untested_count]), strict=False
        )
    ]


def compute_interval(values: Floats, largest_difference: float = 1.0) -> Interval:
    """The mean difference and its interval: exact for few questions, where the bootstrap's would be too narrow."""
    if len(values) >= FEW_QUESTIONS:
        return compute_bootstrap_interval(values)
    low, high = compute_paired_interval(values / largest_difference)
    return Interval(float(values.mean()), largest_difference * low, largest_difference * high)


def make_difference(values: Floats, test: str, p: float, p_holm: float, largest_difference: float = 1.0) -> Difference:
    mean, low, high = (round(value, COMPARED_DIGITS) for value in compute_interval(values, largest_difference))
    return Difference(
        difference=mean,
        low=low,
        high=high,
        test=test,
        p=round(p, COMPARED_DIGITS),
        p_holm=round(p_holm, COMPARED_DIGITS),
        questions_needed=count_questions_needed(values),
    )


def check_baseline(groups: Sequence[Sequence[str]], baseline: str | None) -> None:
    """Raises `SetupError` if the baseline is not one of the methods."""
    names = [name for group in groups for name in group]
    if baseline is not None and baseline not in names:
        raise SetupError(f"The baseline {baseline!r} is none of the methods; name one of: {', '.join(names)}.")


def compare_groups(
    scores: Mapping[str, ColumnScores],
    groups: Sequence[Sequence[str]],
    baseline: str | None = None,
    race: RaceResult | None = None,
) -> list[Comparison]:
    """Compare the methods of each group with its first method, or with `baseline` if the group contains it.

    groups: the names of the columns that are compared with one another (see `Column.group`). A group of one method is
    left out.
    """
    return [
        compare_with_baseline(scores, group, baseline if baseline is not None and baseline in group else group[0], race)
        for group in groups
        if len(group) > 1
    ]
