"""Means with intervals, p-values corrected for several tests, and quantiles.

Which methods may be the best is decided in `quorum.algorithms.best_set`, and differences of two methods in
`quorum.algorithms.paired`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.algorithms.mean_interval import compute_bounded_mean_interval

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """A mean and its confidence interval (95% by default), in the unit of the values."""

    mean: float
    low: float
    high: float


def compute_mean_interval(
    values: ArrayLike, groups: ArrayLike | None = None, low: float = 0.0, high: float = 1.0, *, level: float = 0.95
) -> Interval:
    """The mean of at least one value in [low, high], with an interval that is valid on few questions as well.

    groups: the document or conversation of each value; the values of one group count as one observation. None: each
    value is an observation of its own; then the interval of values that are all `low` or `high` (right or wrong) is
    that of Clopper and Pearson. For all other values it is Gaffke's bound (see `quorum.algorithms.mean_interval`). It
    lies within [low, high] and always has a width.

    >>> compute_mean_interval([1.0] * 30).high
    1.0
    >>> round(compute_mean_interval([1.0] * 30).low, 3)
    0.884
    """
    numbers = np.asarray(values, dtype=np.float64)
    ends = compute_bounded_mean_interval(numbers, groups, low, high, level=level)
    return Interval(math.fsum(numbers) / len(numbers), *ends)


def compute_interval_of_known(
    values: ArrayLike, groups: ArrayLike | None = None, low: float = 0.0, high: float = 1.0
) -> Interval | None:
    """`compute_mean_interval` over the values that are not NaN; None if there are none.

    If a value lies outside [low, high], as a package's metric may, the ends are NaN: no interval is valid then.
    """
    numbers = np.asarray(values, dtype=np.float64)
    is_known = ~np.isnan(numbers)
    if not is_known.any():
        return None
    known_numbers = numbers[is_known]
    if not ((known_numbers >= low) & (known_numbers <= high)).all():
        return Interval(math.fsum(known_numbers) / len(known_numbers), math.nan, math.nan)
    return compute_mean_interval(known_numbers, None if groups is None else np.asarray(groups)[is_known], low, high)


def number_units(ids: Sequence[str], group_of_id: Mapping[str, str]) -> NDArray[np.int64] | None:
    """The unit of each question: a number that the questions of one document or conversation share.

    group_of_id: the document or conversation of each question that has one. None if each question is a unit of its own.

    >>> number_units(["q1", "q2", "q3"], {"q1": "a", "q3": "a"}).tolist()
    [0, 1, 0]
    """
    keys = [("group", group_of_id[id_]) if id_ in group_of_id else ("question", id_) for id_ in ids]
    number_of_key = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return None if len(number_of_key) == len(ids) else np.array([number_of_key[key] for key in keys], dtype=np.int64)


def adjust_p_values(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted for multiple tests (Holm 1979), in the given order.

    If a test counts as significant when its adjusted p-value is at most alpha, the family-wise error rate is at most
    alpha.
    """
    adjusted_p_values, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted_p_values[index] = largest
    return adjusted_p_values


def compute_quantile(values: ArrayLike, share: float) -> float:
    """The quantile that the fraction `share` (0..1) of the values does not exceed, interpolated between two values."""
    return float(np.quantile(np.asarray(values, dtype=np.float64), share))
