"""How methods were compared before, kept to show what was wrong with it (docs/decisions.md).

Every other method was tested against the one with the highest mean on the same questions, by McNemar's exact test or by
random signs, with Holm's correction; questions of one document counted as so many independent ones. The interval of a
mean came from the percentile bootstrap.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.algorithms.best_set import ALPHA
from quorum.evaluation.metrics.statistics import Interval, adjust_p_values

RESAMPLES = 10_000
MAX_NUMBERS_PER_DRAW = 1_000_000  # how many random numbers are drawn at once, so that they fit into memory
COMPARED_DIGITS = 9  # decimals to which values are rounded before it is decided whether they are equal

Floats = NDArray[np.float64]


def name_methods_behind(scores: Floats, *, graded: bool, resamples: int = RESAMPLES) -> NDArray[np.bool_]:
    """For each method, whether it was called "significantly worse" than the one with the highest mean.

    scores: questions by methods.
    """
    best = int(scores.mean(axis=0).argmax())
    others = [method for method in range(scores.shape[1]) if method != best]
    p_values = [
        compute_sign_flip_p_value(scores[:, method] - scores[:, best], resamples=resamples)
        if graded
        else compute_mcnemar_p_value(scores[:, method], scores[:, best])
        for method in others
    ]
    is_behind = np.zeros(scores.shape[1], dtype=np.bool_)
    is_behind[others] = np.array(adjust_p_values(p_values)) < ALPHA
    return is_behind


def compute_bootstrap_interval(
    values: ArrayLike, *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """The percentile bootstrap interval of a mean over at least one value (Efron and Tibshirani 1994, chapter 13).

    For differences between two methods on the same questions, this is the paired interval.
    """
    distinct, counts = np.unique(np.round(np.asarray(values, dtype=np.float64), COMPARED_DIGITS), return_counts=True)
    n, generator = int(counts.sum()), np.random.default_rng(seed)
    if has_many_repeats(counts):
        means = [
            generator.multinomial(n, counts / n, rows) @ distinct / n
            for rows in split_row_count(resamples, len(distinct))
        ]
    else:
        all_values = np.repeat(distinct, counts)
        means = [
            all_values[generator.integers(n, size=(rows, n))].mean(axis=1) for rows in split_row_count(resamples, n)
        ]
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(counts @ distinct / n), float(low), float(high))


def has_many_repeats(counts: NDArray[np.int64]) -> bool:
    """Whether values repeat so often that it is faster to draw counts of distinct values."""
    return 4 * len(counts) <= int(counts.sum())


def split_row_count(row_count: int, width: int) -> Iterator[int]:
    """Split rows of `width` numbers into parts of at most MAX_NUMBERS_PER_DRAW numbers. Yields their row counts."""
    rows_per_part = max(1, MAX_NUMBERS_PER_DRAW // width)
    while row_count > 0:
        yield min(rows_per_part, row_count)
        row_count -= rows_per_part


def compute_mcnemar_p_value(first_scores: ArrayLike, second_scores: ArrayLike) -> float:
    """The exact two-sided p-value of McNemar's test: do two methods answer equally many of the same questions right?

    Under the null hypothesis, each question that exactly one method answers correctly is a fair coin toss.
    """
    first_right, second_right = np.asarray(first_scores) > 0.5, np.asarray(second_scores) > 0.5
    only_one_right = int((first_right & ~second_right).sum()), int((second_right & ~first_right).sum())
    coins, fewer = sum(only_one_right), min(only_one_right)
    ways, ways_of_heads = 0, 1  # ways_of_heads: the binomial coefficient (coins over heads)
    for heads in range(fewer + 1):
        ways += ways_of_heads
        ways_of_heads = ways_of_heads * (coins - heads) // (heads + 1)
    return float(min(1.0, 2 * ways / 2**coins))


def compute_sign_flip_p_value(differences: ArrayLike, *, resamples: int = RESAMPLES, seed: int = 0) -> float:
    """The two-sided p-value of a paired permutation test of the mean: under the null hypothesis each difference might
    as well have the other sign (Fisher 1935, section 21).

    Exact if there are at most `resamples` sign patterns. Otherwise `resamples` patterns are drawn at random, and the
    observed pattern is counted with them.
    """
    values = np.round(np.asarray(differences, dtype=np.float64), COMPARED_DIGITS)
    values = values[values != 0]
    observed_sum = abs(float(values.sum())) * (1 - 1e-9)  # a sum that equals it up to rounding counts as extreme, too
    if 2 ** len(values) <= resamples:
        sums = sum_all_signs(values)
        return float(np.mean(np.abs(sums) >= observed_sum))
    # counts: how many differences have each size; a pattern gives positive_counts of them the sign plus.
    sizes, counts = np.unique(np.abs(values), return_counts=True)
    if not has_many_repeats(counts):
        sizes, counts = np.abs(np.sort(values)), np.ones(len(values), dtype=np.int64)
    generator, extreme_count = np.random.default_rng(seed), 0
    for rows in split_row_count(resamples, len(sizes)):
        shape = (rows, len(sizes))
        positive_counts = (
            generator.binomial(counts, 0.5, shape)
            if counts.max() > 1
            else generator.integers(2, size=shape, dtype=np.int8)
        )
        extreme_count += int((np.abs((2.0 * positive_counts - counts) @ sizes) >= observed_sum).sum())
    return (extreme_count + 1) / (resamples + 1)


def sum_all_signs(values: Floats) -> Floats:
    """The sums of the values under each of the 2**n choices of signs."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums
