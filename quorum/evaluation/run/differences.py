"""The difference of two methods in one measure, with its interval and its test, and the values behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict

from quorum.algorithms.best_set import ALPHA, compute_simultaneous_interval, count_units, sum_by_unit
from quorum.algorithms.paired import are_signs, compute_tango_interval
from quorum.algorithms.recommend import estimate_questions_needed
from quorum.evaluation.metrics.registry import WORTH_MEASURE, is_binary
from quorum.evaluation.metrics.statistics import Floats
from quorum.evaluation.run.column_scores import ColumnScores

DIGITS = 6  # after the decimal point, in a `Difference`
SMALLEST_CRITICAL_VALUE = 1.96  # that of the interval of a single difference


class Difference(TypedDict):
    """A method's mean minus the baseline's, over the same questions, with its 95% interval.

    The intervals of all methods hold together. test: "step-down" against a baseline that was named beforehand, "best
    set" against the method with the highest mean (see `quorum.algorithms.best_set`). p_holm: the p-value adjusted for
    all methods compared; with the test "best set" it is about "this method is one of the best", not about the two
    methods. p: of a "step-down" test, the p-value for this method alone; else the same as p_holm. But if a race dropped
    one of the two methods, or has not ended, `test` is "race": the interval holds at every moment of the race, and p
    and p_holm are 1. questions_needed: about how many questions would show the difference with probability 0.8; null if
    these do so already, if `test` is "race", if the means are equal, or if there are fewer than two questions.
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


@dataclass(frozen=True)
class ValueTable:
    """The values of one measure: `values` of questions by methods, for the questions that all of them have.

    names: the methods; ids: the questions; units: the document or conversation of each question, None if each stands
    for itself; binary: whether every value is right or wrong; scale: the largest possible difference of two values.
    """

    names: tuple[str, ...]
    ids: list[str]
    values: Floats
    units: NDArray[np.int64] | None
    binary: bool
    scale: float

    @property
    def scaled_values(self) -> Floats:
        """The values divided by `scale`."""
        scaled: Floats = self.values / self.scale
        return scaled

    def get_differences(self, name: str, other: str) -> Floats:
        """The first method's values minus the other's."""
        differences: Floats = self.values[:, self.names.index(name)] - self.values[:, self.names.index(other)]
        return differences


def collect_values(
    scores: Mapping[str, ColumnScores], names: Sequence[str], measure: str, ids: Sequence[str]
) -> ValueTable:
    """The values of the methods `names` on those questions of `ids` for which all of them have the measure."""
    values = np.column_stack([scores[name].get_values(measure, ids) for name in names])
    is_defined = np.asarray(np.isfinite(values).all(axis=1))
    defined_ids = [id_ for id_, flag in zip(ids, is_defined.tolist(), strict=True) if flag]
    defined_values = values[is_defined]
    scale = 1 + scores[names[0]].wrong_cost if measure == WORTH_MEASURE else 1.0
    if measure != WORTH_MEASURE and defined_values.size:  # a metric of a package may have any scale
        scale = max(scale, float(np.ptp(defined_values)))
    return ValueTable(
        tuple(names), defined_ids, defined_values, scores[names[0]].get_units(defined_ids), is_binary(measure), scale
    )


def compute_difference_interval(
    differences: Floats, units: NDArray[np.int64] | None, critical_value: float, *, binary: bool, scale: float = 1.0
) -> tuple[float, float]:
    """The interval of a mean difference at a critical value, which several intervals may share.

    It is Tango's for right or wrong answers if each question stands for itself, else that of the test by signs. scale:
    the largest possible difference. Where no method ever differs there is no critical value (0); that of a single
    difference counts then.
    """
    if units is None and binary and are_signs(differences):
        plus, minus = int((differences > 0.5).sum()), int((differences < -0.5).sum())
        return compute_tango_interval(plus, minus, len(differences), z=max(SMALLEST_CRITICAL_VALUE, critical_value))
    sums = sum_by_unit(differences / scale, units)
    sizes = sum_by_unit(np.ones(len(differences)), units)
    low, high = compute_simultaneous_interval(sums, sizes, critical_value or SMALLEST_CRITICAL_VALUE)
    return scale * low, scale * high


def make_difference(
    table: ValueTable,
    names: tuple[str, str],
    test: str,
    p_values: tuple[float, float],
    interval_critical_value: float,
    test_critical_value: float | None,
) -> Difference:
    """The `Difference` of a method from another, in the measure of the table.

    names: the method and the other one; p_values: p and p_holm; interval_critical_value, test_critical_value: those
    of the interval, and of the test that more questions would repeat.
    """
    differences = table.get_differences(*names)
    low, high = compute_difference_interval(
        differences, table.units, interval_critical_value, binary=table.binary, scale=table.scale
    )
    needed = None
    if p_values[1] >= ALPHA and test_critical_value:
        questions_per_unit = len(differences) / count_units(table.units, len(differences))
        needed = estimate_questions_needed(
            sum_by_unit(differences, table.units), test_critical_value, questions_per_unit
        )
    return Difference(
        difference=round(float(differences.mean()), DIGITS),
        low=round(low, DIGITS),
        high=round(high, DIGITS),
        test=test,
        p=round(p_values[0], DIGITS),
        p_holm=round(p_values[1], DIGITS),
        questions_needed=needed,
    )
