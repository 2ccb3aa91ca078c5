"""Testing by betting: evidence about a mean that may be looked at after every question, at no cost.

A gambler who does not believe that the mean of x_1, x_2, ... in [-1, 1] is at most `mean` bets a share of the capital
on each next value. If that claim holds, no bet is favourable, so the capital reaches 1/d with chance d at most, however
often one looks and whenever one stops (Ville 1939). The capital is the evidence: an e-process. Source: Waudby-Smith and
Ramdas 2024, Estimating means of bounded random variables by betting (arXiv:2010.09686), section 4; without replacement:
Waudby-Smith and Ramdas 2020 (arXiv:2006.04347).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

STAKES = np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])
SLACK = 1e-9  # sums of decimal fractions are equal up to this
HALVINGS = 40


def means_under_the_null(x: Floats, mean: float, population: int | None) -> Floats:
    """The greatest mean that each value may have, given those before it.

    Of independent values it is `mean`; of values drawn in random order from `population` ones whose mean is at most
    `mean`, what is left for those not drawn.
    """
    if population is None:
        return np.full_like(x, mean)
    before = np.cumsum(x, axis=-1) - x
    left: Floats = population - np.arange(x.shape[-1], dtype=np.float64)
    return (population * mean - before) / left


def log_factors(x: Floats, m: Floats) -> Floats:
    """ln(1 + f / (1 + m) (x - m)) for every stake f, on a new last axis; 0 where the null leaves nothing below x."""
    room = 1 + m
    possible = room > SLACK
    gain = np.where(possible, (x - m) / np.where(possible, room, 1.0), 0.0)
    found: Floats = np.log1p(np.maximum(gain, -1.0)[..., None] * STAKES)
    return found


def capital(values: ArrayLike, *, mean: float = 0.0, population: int | None = None) -> Floats:
    """The capital after each value against "the mean is at most `mean`", begun with 1: the average over seven stakes.

    values: along the last axis, each in [-1, 1], in an order that does not depend on them. population: how many values
    there are in all, where these are drawn from them without replacement; None: independent draws. The capital is
    infinite once no continuation could bring the mean of the population down to `mean`.

    >>> [round(float(one), 3) for one in capital([1, 1, -1])]
    [1.4, 2.046, 0.975]
    """
    x = np.asarray(values, dtype=np.float64)
    m = means_under_the_null(x, mean, population)
    logs = np.cumsum(log_factors(x, m), axis=-2)
    found: Floats = np.exp(np.minimum(logs, 700.0)).mean(axis=-1)
    if population is not None:
        left = population - np.arange(1, x.shape[-1] + 1)
        certain = np.cumsum(x, axis=-1) - left > population * mean + SLACK
        found = np.where(np.logical_or.accumulate(certain, axis=-1), np.inf, found)
    return found


def p_value(values: ArrayLike, *, mean: float = 0.0, population: int | None = None) -> float:
    """The p-value of "the mean is at most `mean`", valid whenever one stopped: 1 / the highest capital, at most 1."""
    found = capital(values, mean=mean, population=population)
    highest = float(found.max()) if found.size else 1.0
    return min(1.0, 1.0 / highest) if highest > 0 else 1.0


def lower_bound(values: ArrayLike, error: float, *, population: int | None = None) -> float:
    """What the mean exceeds with confidence 1 - error, whenever one stopped, and however few values there are.

    The greatest mean that the bets reject: they reject all below it too, as each bet gains less the higher it is.

    >>> round(lower_bound([1.0] * 100, 0.025), 3)
    0.887
    """
    x = np.asarray(values, dtype=np.float64)
    low, high = -1.0, 1.0
    if not x.size:
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if p_value(x, mean=middle, population=population) <= error:
            low = middle
        else:
            high = middle
    return low


def interval(values: ArrayLike, *, level: float = 0.95, population: int | None = None) -> tuple[float, float]:
    """An interval for a mean in [-1, 1] that holds it with confidence `level` at every moment at once.

    >>> interval([])
    (-1.0, 1.0)
    """
    x, error = np.asarray(values, dtype=np.float64), (1 - level) / 2
    return lower_bound(x, error, population=population), -lower_bound(-x, error, population=population)


def interval_of_shares(values: ArrayLike, *, level: float = 0.95, population: int | None = None) -> tuple[float, float]:
    """`interval` of values in [0, 1], such as exact match: stretched to [-1, 1] and back."""
    low, high = interval(2 * np.asarray(values, dtype=np.float64) - 1, level=level, population=population)
    return (1 + low) / 2, (1 + high) / 2
