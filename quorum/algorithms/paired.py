"""Compares two methods on the same questions: whether one is better, or worse by less than a margin, and by how much.

All p-values are exact for any number of questions: a true hypothesis is rejected with probability alpha at most.
`losses`: for each question, the score of the other method minus that of the tested method, in [-1, 1]. A positive loss
means that the tested method did worse. `differences`: for each question, the score of one method minus that of another,
in [-1, 1]. `plus`, `minus`: of `n` questions, how many have a loss (or difference) of 1, and how many of -1.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.algorithms import betting
from quorum.algorithms.binomial import binomial_cdf, clopper_pearson_upper, compute_log_factorials
from quorum.algorithms.mean_interval import compute_bounded_mean_interval

# The error of the bound on the share of questions where the methods differ. It is added to the p-value.
NUISANCE_ERROR = 0.001
GRID_STEPS = 40  # how many values of this share each grid search tries; the largest p-value counts
PROBABILITIES_AT_ONCE = 20_000  # how many are computed in one array, which then fits into a processor's cache
COMPARED_DIGITS = 9  # decimal digits to which losses are rounded before they are compared with 1, 0 and -1
MOST_QUESTIONS = 20_000  # an estimate of how many questions are needed is None above this number

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def are_signs(losses: ArrayLike) -> bool:
    """Whether every loss is 1, -1 or 0: the answers of both methods are right or wrong, with nothing in between."""
    rounded_losses = np.round(np.asarray(losses, dtype=np.float64), COMPARED_DIGITS)
    return bool(np.isin(rounded_losses, (-1.0, 0.0, 1.0)).all())


def compute_margin_p_value(losses: ArrayLike, margin: float) -> float:
    """The p-value of "the mean loss is at least `margin`". If the p-value is small, the mean loss is below `margin`.

    This is a test of non-inferiority; `margin` must be positive. For right or wrong answers it is the exact
    unconditional test of `compute_margin_p_value_of_counts`, for graded answers the test by betting.

    >>> round(compute_margin_p_value([0] * 90 + [1] * 5 + [-1] * 5, 0.1), 3)
    0.004
    """
    values = np.asarray(losses, dtype=np.float64)
    if not values.size or margin >= 1:
        return 1.0
    if not are_signs(values):
        return betting.compute_p_value(-values, mean=-margin)
    return compute_margin_p_value_of_counts(len(values), int((values > 0.5).sum()), int((values < -0.5).sum()), margin)


@lru_cache(maxsize=65536)
def compute_margin_p_value_of_counts(n: int, plus: int, minus: int, margin: float) -> float:
    """`compute_margin_p_value` for n questions, of which `plus` have a loss of 1, `minus` a loss of -1, the others 0.

    The p-value is the probability that the score statistic (Tango 1998) is at most the observed one. It depends on the
    share of questions on which the answers are unequal, which is not known. So we take the maximum over a confidence
    set for that share and add the set's error, NUISANCE_ERROR (Berger and Boos 1994; for matched pairs Berger and Sidik
    2003). Of all mean losses of `margin` or more, `margin` itself gives the largest probability.
    """
    largest_share = max(margin, clopper_pearson_upper(plus + minus, n, NUISANCE_ERROR))
    plus_counts, minus_counts = list_extreme_tables(
        n, largest_share, float(compute_tango_statistic(plus, minus, n, margin)), margin
    )
    logs = compute_log_factorials(n)
    equal_counts = n - plus_counts - minus_counts
    log_ways = logs[n] - logs[plus_counts] - logs[minus_counts] - logs[equal_counts]

    def compute_tails(shares: Floats) -> Floats:
        """For each share of unequal answers, the probability of all extreme tables, if the mean loss is `margin`."""
        log_losses, log_gains, log_equals = (
            np.log(np.maximum(chances, 1e-300))[:, None]
            for chances in ((shares + margin) / 2, (shares - margin) / 2, 1 - shares)
        )
        log_chances = plus_counts * log_losses
        log_chances += equal_counts * log_equals
        log_chances += minus_counts * log_gains
        log_chances += log_ways
        tails: Floats = np.exp(log_chances, out=log_chances).sum(axis=1)
        return tails

    block_count = min(GRID_STEPS, math.ceil(GRID_STEPS * len(plus_counts) / PROBABILITIES_AT_ONCE) or 1)
    low, high, largest_tail = margin, largest_share, 0.0
    for _ in range(2):  # a grid, then a finer grid around its maximum
        shares = np.linspace(low, high, GRID_STEPS)
        tails = np.concatenate([compute_tails(block) for block in np.array_split(shares, block_count)])
        index, largest_tail = int(np.argmax(tails)), max(largest_tail, float(tails.max()))
        low, high = shares[max(index - 1, 0)], shares[min(index + 1, GRID_STEPS - 1)]
    return min(1.0, NUISANCE_ERROR + largest_tail)


def list_extreme_tables(
    n: int, largest_share: float, observed_statistic: float, margin: float
) -> tuple[Counts, Counts]:
    """All possible pairs (plus, minus) whose score statistic is at most the observed one, as two arrays.

    largest_share: an upper bound of the share of questions on which the answers are unequal. Pairs with so many unequal
    answers that they have almost no probability under this bound are left out.
    """
    expected_count, variance = n * largest_share, n * largest_share * (1 - largest_share)
    largest_count = min(n, math.ceil(expected_count + 9 * math.sqrt(variance + 1) + 9))
    plus_counts, minus_counts = np.meshgrid(np.arange(largest_count + 1), np.arange(largest_count + 1), indexing="ij")
    inside = plus_counts + minus_counts <= largest_count
    plus_counts, minus_counts = plus_counts[inside], minus_counts[inside]
    extreme = compute_tango_statistic(plus_counts, minus_counts, n, margin) <= observed_statistic + 1e-9
    return plus_counts[extreme], minus_counts[extreme]


def compute_tango_statistic(plus: ArrayLike, minus: ArrayLike, n: int, difference: float) -> Floats:
    """Tango's score statistic of a hypothetical difference; about standard normal if that is the true difference.

    The statistic is the observed minus the hypothetical difference, divided by the standard deviation. The standard
    deviation is computed from `minus_share`, the share of questions with a loss (or difference) of -1 that is most
    likely under the hypothesis. `b`, `c`: coefficients of the quadratic equation for this share.
    """
    plus_counts, minus_counts = np.asarray(plus, dtype=np.float64), np.asarray(minus, dtype=np.float64)
    b = -plus_counts - minus_counts + (2 * n - plus_counts + minus_counts) * difference
    c = -minus_counts * difference * (1 - difference)
    minus_share = (np.sqrt(np.maximum(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
    variance = np.maximum(n * (2 * minus_share + difference * (1 - difference)), 1e-12)
    statistic: Floats = (plus_counts - minus_counts - n * difference) / np.sqrt(variance)
    return statistic


def compute_superiority_p_value(differences: ArrayLike) -> float:
    """The p-value of "the mean difference is at most 0". If the p-value is small, the mean difference is positive.

    A test of superiority. For right or wrong answers it is the exact sign test on the questions on which the two
    methods differ: if the means are equal, each method wins such a question with probability 1/2. For graded answers it
    is the test by betting.

    >>> round(compute_superiority_p_value([1] * 8 + [-1] * 2 + [0] * 40), 4)
    0.0547
    """
    values = np.asarray(differences, dtype=np.float64)
    if not values.size:
        return 1.0
    if not are_signs(values):
        return betting.compute_p_value(values)
    wins, losses = int((values > 0.5).sum()), int((values < -0.5).sum())
    return binomial_cdf(losses, wins + losses, 0.5) if wins + losses else 1.0


def compute_paired_interval(differences: ArrayLike, *, level: float = 0.95) -> tuple[float, float]:
    """An interval for the mean difference that is valid on few questions as well.

    It is Tango's interval for right or wrong answers, and Gaffke's bound for graded answers (see
    `quorum.algorithms.mean_interval`). Without any question it is (-1, 1).
    """
    values = np.asarray(differences, dtype=np.float64)
    if not values.size:
        return -1.0, 1.0
    if not are_signs(values):
        return compute_bounded_mean_interval(values, low=-1.0, high=1.0, level=level)
    plus, minus = int((values > 0.5).sum()), int((values < -0.5).sum())
    return compute_tango_interval(plus, minus, len(values), level=level)


def compute_tango_interval(
    plus: int, minus: int, n: int, *, level: float = 0.95, z: float | None = None
) -> tuple[float, float]:
    """The score interval of the difference between two methods' shares of right answers to the same n questions.

    plus: how many of the questions only the first method answers rightly; minus: how many only the second method. The
    difference is the first method's share minus the second's (Tango 1998, Statistics in Medicine 17: 891-908). z: the
    critical value of the score statistic, in place of the one that belongs to `level`.

    >>> [round(end, 4) for end in compute_tango_interval(12, 2, 50)]
    [0.0611, 0.3447]
    """
    critical_value = compute_normal_quantile((1 + level) / 2) if z is None else z
    observed_difference = (plus - minus) / n

    def find_end(outside: float) -> float:
        """Find, by bisection, one end of the interval. It lies between the observed difference, which is in the
        interval, and `outside`, a value beyond this end.
        """
        inner = observed_difference
        for _ in range(60):
            middle = (inner + outside) / 2
            if abs(float(compute_tango_statistic(plus, minus, n, middle))) <= critical_value:
                inner = middle
            else:
                outside = middle
        return inner

    return find_end(-1.0), find_end(1.0)


def compute_normal_quantile(probability: float) -> float:
    """The quantile of the standard normal distribution."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)


def estimate_questions_to_certify(losses: ArrayLike, margin: float, error: float, *, power: float = 0.8) -> int | None:
    """About how many questions would show that the mean loss is below `margin`, if mean and variance stay as observed.

    An estimate: the sample size of a one-sided z-test at level `error` that succeeds with probability `power`, but at
    least `count_fewest_questions`. None if there are fewer than two losses, if their mean is not below the margin, or
    if more than MOST_QUESTIONS would be needed.
    """
    values = np.asarray(losses, dtype=np.float64)
    distance = margin - float(values.mean()) if len(values) else 0.0
    if len(values) < 2 or distance <= 0:
        return None
    spread = float(values.std(ddof=1))
    quantiles = compute_normal_quantile(1 - error) + compute_normal_quantile(power)
    questions_needed = math.ceil((quantiles * spread / distance) ** 2)
    if questions_needed > MOST_QUESTIONS:
        return None
    return max(questions_needed, count_fewest_questions(margin, error))


def count_fewest_questions(margin: float, error: float) -> int:
    """The fewest questions that show, at level `error`, a mean loss below `margin` if the methods never differ.

    If the tested method wins some questions, fewer can be enough. error: must be greater than NUISANCE_ERROR, because
    no p-value for answers that are right or wrong is smaller than that.

    >>> count_fewest_questions(0.03, 0.1)
    76
    """
    return math.ceil(math.log(error - NUISANCE_ERROR) / math.log1p(-margin)) if 0 < margin < 1 else 1
