"""The rule by which one of several methods is recommended: the cheapest of those that may be the best and nearly are.

Every command that recommends a method asks this rule: compare, a race at its end, compose, calibrate, gate, the report.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quorum.algorithms.best_set import (
    ALPHA,
    BestSet,
    Floats,
    count_units,
    estimate_units_needed,
    find_best_set,
    sum_by_unit,
)

MARGIN = 0.02  # a method within so much of the highest mean may be recommended because it is cheaper
ROUNDING_ERROR = 1e-9


@dataclass(frozen=True)
class Choice:
    """The recommended method, and what the questions say about the others.

    recommended: the cheapest of the methods that may be the best and whose mean is within the margin of the highest;
    highest: the method with the highest mean, of several the cheapest. means, p_values: by method; a p-value is that of
    "this method is one of the best" (see `quorum.algorithms.best_set`). questions_needed: for each method that may be
    the best, apart from `highest`, about how many questions would show that it is not; None if its mean equals the
    highest. question_count: how many questions count.
    """

    recommended: str
    highest: str
    means: Mapping[str, float]
    p_values: Mapping[str, float]
    questions_needed: Mapping[str, int | None]
    question_count: int
    best_set: BestSet

    @property
    def may_be_best(self) -> list[str]:
        """The methods that may be the best."""
        return [name for name, p in self.p_values.items() if p >= ALPHA]

    @property
    def not_among_best(self) -> list[str]:
        """The methods that are not among the best, the highest mean first."""
        return sorted(
            (name for name, p in self.p_values.items() if p < ALPHA), key=lambda name: (-self.means[name], name)
        )

    @property
    def is_certain(self) -> bool:
        """Whether only one method may be the best; it is the recommended one."""
        return len(self.may_be_best) == 1

    @property
    def questions_to_settle(self) -> int | None:
        """About how many questions would leave one method that may be the best; None if some means are equal, or if
        there is only one already.
        """
        numbers = list(self.questions_needed.values())
        return None if not numbers or None in numbers else max(number for number in numbers if number is not None)


def choose_method(
    names: Sequence[str],
    worth: ArrayLike,
    costs: Sequence[float],
    units: ArrayLike | None = None,
    *,
    graded: bool,
    margin: float = MARGIN,
    largest_difference: float = 1.0,
    signed_sums: Floats | None = None,
) -> Choice:
    """Recommend one of the methods.

    worth: questions by methods, the score or worth of each answer; costs: the mean cost of each method; units: the
    document or conversation of each question. graded: whether an answer can be worth other than 0 or 1. margin: by how
    much the mean of the recommended method may be below the highest. largest_difference: of two answers, 1 plus the
    cost of a wrong one. signed_sums: see `find_best_set`. At least one method.

    >>> worth = [[1, 1, 0]] * 12 + [[1, 0, 0]]
    >>> choice = choose_method(["dear", "cheap", "poor"], worth, [9.0, 3.0, 1.0], graded=False)
    >>> choice.recommended, choice.highest, choice.not_among_best, choice.is_certain
    ('dear', 'dear', ['poor'], False)
    >>> choose_method(["dear", "cheap", "poor"], worth, [9.0, 3.0, 1.0], graded=False, margin=0.1).recommended
    'cheap'
    """
    table = np.asarray(worth, dtype=np.float64).reshape(-1, len(names))
    means = table.mean(axis=0) if len(table) else np.zeros(len(names))
    best_set = find_best_set(table / largest_difference, units, graded=graded, signed_sums=signed_sums)
    places = range(len(names))
    highest = max(places, key=lambda place: (round(float(means[place]), 6), -costs[place], -place))
    eligible = [
        place
        for place in places
        if place == highest
        or (best_set.p_values[place] >= ALPHA and means[place] >= means[highest] - margin - ROUNDING_ERROR)
    ]
    recommended = min(eligible, key=lambda place: (costs[place], -means[place], place))
    sums, unit_count = sum_by_unit(table, units), count_units(units, len(table))
    return Choice(
        recommended=names[recommended],
        highest=names[highest],
        means={name: float(mean) for name, mean in zip(names, means, strict=True)},
        p_values={name: float(p) for name, p in zip(names, best_set.p_values, strict=True)},
        questions_needed={
            names[place]: estimate_questions_needed(
                sums[:, highest] - sums[:, place], best_set.critical_value or 0.0, len(table) / max(1, unit_count)
            )
            for place in best_set.members
            if place != highest
        },
        question_count=len(table),
        best_set=best_set,
    )


def estimate_questions_needed(unit_differences: Floats, critical_value: float, questions_per_unit: float) -> int | None:
    """About how many questions would show the difference of two methods: as many units as `estimate_units_needed` says,
    with as many questions each as they have now.
    """
    needed = estimate_units_needed(unit_differences, critical_value)
    return None if needed is None else math.ceil(needed * questions_per_unit - ROUNDING_ERROR)
