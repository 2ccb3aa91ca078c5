"""Testing by betting: tests and intervals for a mean that stay valid even if one checks them after every question.

The hypothesis: the mean of x_1, x_2, ... in [-1, 1] is at most `mean`. A gambler bets a share of the capital against
it on each next value. If the hypothesis is true, no bet is favourable. For any d in (0, 1), the probability that the
capital ever reaches 1/d is then at most d, however often one looks and whenever one stops (Ville 1939). The capital, an
e-process, is the evidence against the hypothesis.

Source: Waudby-Smith and Ramdas 2024, Estimating means of bounded random variables by betting (arXiv:2010.09686),
section 4; without replacement: Waudby-Smith and Ramdas 2020 (arXiv:2006.04347).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

STAKES = np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])  # seven sizes of the bets, see `compute_log_factors`
ROUNDING_ERROR = 1e-9  # sums of decimal fractions that differ by less than this count as equal
BISECTION_STEPS = 40


def compute_null_means(x: Floats, mean: float, population: int | None) -> Floats:
    """The largest mean that the hypothesis allows for each value, given the values before it.

    For independent values this is `mean`. For values drawn without replacement from `population` values whose mean is
    at most `mean`, it is the largest mean that the values not yet drawn can have.
    """
    if population is None:
        return np.full_like(x, mean)
    sums_before = np.cumsum(x, axis=-1) - x
    remaining_counts: Floats = population - np.arange(x.shape[-1], dtype=np.float64)
    return (population * mean - sums_before) / remaining_counts


def compute_log_factors(x: Floats, m: Floats) -> Floats:
    """ln(1 + f (x - m) / (1 + m)) for every stake f, on a new last axis. m: from `compute_null_means`.

    It is the logarithm of the factor by which each value x multiplies the capital; 0 if m is -1 or less, because then
    no bet is possible.
    """
    room = 1 + m
    is_possible = room > ROUNDING_ERROR
    gain = np.where(is_possible, (x - m) / np.where(is_possible, room, 1.0), 0.0)
    log_factors: Floats = np.log1p(np.maximum(gain, -1.0)[..., None] * STAKES)
    return log_factors


def compute_capital(values: ArrayLike, *, mean: float = 0.0, population: int | None = None) -> Floats:
    """The capital after each value, from bets against "the mean is at most `mean`": the average over seven stakes.

    The capital before the first value is 1.

    values: along the last axis, each in [-1, 1]; their order must not depend on their values. population: the number
    of values from which these are drawn without replacement; None: independent draws. The capital becomes infinite once
    the values not yet drawn cannot bring the population's mean down to `mean` any more.

    >>> [round(float(capital), 3) for capital in compute_capital([1, 1, -1])]
    [1.4, 2.046, 0.975]
    """
    x = np.asarray(values, dtype=np.float64)
    m = compute_null_means(x, mean, population)
    logs = np.cumsum(compute_log_factors(x, m), axis=-2)
    capital: Floats = np.exp(np.minimum(logs, 700.0)).mean(axis=-1)
    if population is not None:
        remaining_counts = population - np.arange(1, x.shape[-1] + 1)
        is_disproved = np.cumsum(x, axis=-1) - remaining_counts > population * mean + ROUNDING_ERROR
        capital = np.where(np.logical_or.accumulate(is_disproved, axis=-1), np.inf, capital)
    return capital


def compute_p_value(values: ArrayLike, *, mean: float = 0.0, population: int | None = None) -> float:
    """The p-value of "the mean is at most `mean`": 1 / the highest capital, at most 1. Valid for any stopping rule."""
    capital = compute_capital(values, mean=mean, population=population)
    highest = float(capital.max()) if capital.size else 1.0
    return min(1.0, 1.0 / highest) if highest > 0 else 1.0


def compute_lower_bound(values: ArrayLike, error: float, *, population: int | None = None) -> float:
    """A lower bound of the mean with confidence 1 - error, for any stopping rule and any number of values.

    It is the largest mean that the bets reject. All smaller means are rejected, too: a bet gains more against a smaller
    mean.

    >>> round(compute_lower_bound([1.0] * 100, 0.025), 3)
    0.887
    """
    x = np.asarray(values, dtype=np.float64)
    low, high = -1.0, 1.0
    if not x.size:
        return low
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        if compute_p_value(x, mean=middle, population=population) <= error:
            low = middle
        else:
            high = middle
    return low


def compute_interval(values: ArrayLike, *, level: float = 0.95, population: int | None = None) -> tuple[float, float]:
    """An anytime interval for a mean in [-1, 1]: with probability `level` it contains the mean after every value.

    >>> compute_interval([])
    (-1.0, 1.0)
    """
    x, error = np.asarray(values, dtype=np.float64), (1 - level) / 2
    return compute_lower_bound(x, error, population=population), -compute_lower_bound(-x, error, population=population)


def compute_share_interval(
    values: ArrayLike, *, level: float = 0.95, population: int | None = None
) -> tuple[float, float]:
    """`compute_interval` for values in [0, 1], such as exact match.

    The values are scaled to [-1, 1], and the ends of the interval are scaled back to [0, 1].
    """
    low, high = compute_interval(2 * np.asarray(values, dtype=np.float64) - 1, level=level, population=population)
    return (1 + low) / 2, (1 + high) / 2
