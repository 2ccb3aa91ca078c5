"""The binomial distribution, exactly, with numpy alone."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

BISECTION_STEPS = 60


def compute_log_factorials(n: int) -> NDArray[np.float64]:
    """ln 0!, ln 1!, ..., ln n!."""
    return compute_log_factorials_below(max(10, n.bit_length()))[: n + 1]


@lru_cache
def compute_log_factorials_below(bits: int) -> NDArray[np.float64]:
    """ln n! for every n below 2 ** bits. (The argument is a number of bits, so that few arrays are cached.)"""
    sums: NDArray[np.float64] = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 2**bits)))])
    return sums


def binomial_cdf(k: int, n: int, chance: float) -> float:
    """P(X <= k) for X the number of successes in n draws, each of which succeeds with probability `chance`.

    >>> round(binomial_cdf(0, 59, 0.05), 4)
    0.0485
    """
    if k < 0:
        return 0.0
    if k >= n or chance <= 0:
        return 1.0
    if chance >= 1:
        return 0.0
    return sum_chances(compute_log_ways(k, n), k, n, chance)


def compute_log_ways(k: int, n: int) -> NDArray[np.float64]:
    """ln of the number of ways to choose 0, 1, ..., k of n."""
    logs, successes = compute_log_factorials(n), np.arange(k + 1)
    log_ways: NDArray[np.float64] = logs[n] - logs[successes] - logs[n - successes]
    return log_ways


def sum_chances(log_ways: NDArray[np.float64], k: int, n: int, chance: float) -> float:
    """The probability of at most k successes, for a chance strictly between 0 and 1. log_ways: of 0 to k of n."""
    successes = np.arange(k + 1)
    terms = log_ways + successes * np.log(chance) + (n - successes) * np.log1p(-chance)
    return min(1.0, float(np.exp(terms).sum()))


@lru_cache(maxsize=10_000)  # a comparison asks for the same bound many times
def clopper_pearson_upper(k: int, n: int, error: float) -> float:
    """The upper confidence bound of the chance of success after k successes in n draws (Clopper and Pearson 1934).

    The true chance exceeds the bound with probability `error` at most.

    >>> round(clopper_pearson_upper(0, 59, 0.05), 4)
    0.0495
    """
    if k >= n:
        return 1.0
    low, high, log_ways = k / n, 1.0, compute_log_ways(k, n)
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        if middle < 1 and sum_chances(log_ways, k, n, middle) > error:
            low = middle
        else:
            high = middle
    return high
