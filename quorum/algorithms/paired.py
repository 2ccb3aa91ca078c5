"""Two methods on the same questions: is one worse by a margin, is it better, by how much?

All p-values here are exact for any number of questions: a true null hypothesis is rejected with the stated chance at
most. `losses` are x_one - x_other, question by question, each in [-1, 1].
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.algorithms import betting
from quorum.algorithms.binomial import at_most, log_factorials, upper_bound

NUISANCE_ERROR = 0.001  # the part of the p-value that pays for bounding the share of questions on which the two differ
GRID = 40
DIGITS = 9
MOST_QUESTIONS = 20_000  # beyond this no estimate of how many would do is made

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def are_signs(losses: ArrayLike) -> bool:
    """Whether every loss is 1, -1 or 0, as of two methods whose answers are right or wrong."""
    rounded = np.round(np.asarray(losses, dtype=np.float64), DIGITS)
    return bool(np.isin(rounded, (-1.0, 0.0, 1.0)).all())


def margin_p_value(losses: ArrayLike, margin: float) -> float:
    """The p-value of "the mean loss is at least `margin`", 0 < margin: small where it is surely less.

    Right or wrong answers: the exact unconditional test of `counts_p_value`. Graded ones: betting.

    >>> round(margin_p_value([0] * 90 + [1] * 5 + [-1] * 5, 0.1), 3)
    0.004
    """
    found = np.asarray(losses, dtype=np.float64)
    if not found.size or margin >= 1:
        return 1.0
    if not are_signs(found):
        return betting.p_value(-found, mean=-margin)
    return counts_p_value(len(found), int((found > 0.5).sum()), int((found < -0.5).sum()), margin)


@lru_cache(maxsize=65536)
def counts_p_value(n: int, plus: int, minus: int, margin: float) -> float:
    """`margin_p_value` of n questions with `plus` losses of 1 and `minus` of -1.

    The chance of a score statistic (Tango 1998) as low as the one seen, summed over all tables that have one, at its
    worst over the shares of unequal answers that the data leave open with error NUISANCE_ERROR, which is added (Berger
    and Boos 1994; for matched pairs Berger and Sidik 2003). Among means of `margin` or more, `margin` is the worst: a
    table with fewer losses or more gains has a lower score.
    """
    most = max(margin, upper_bound(plus + minus, n, NUISANCE_ERROR))
    ones, others = extreme_tables(n, most, float(scores(plus, minus, n, margin)), margin)
    logs = log_factorials(n)
    ways = logs[n] - logs[ones] - logs[others] - logs[n - ones - others]

    def chance(share: float) -> float:
        each = ones * log_of((share + margin) / 2) + (n - ones - others) * log_of(1 - share)
        each += np.where(others > 0, others * log_of((share - margin) / 2), 0.0)
        return float(np.exp(ways + each).sum())

    low, high, worst = margin, most, 0.0
    for _ in range(2):  # a grid, then a finer one around its worst point
        shares = np.linspace(low, high, GRID)
        tails = [chance(float(share)) for share in shares]
        place, worst = int(np.argmax(tails)), max(worst, *tails)
        low, high = shares[max(place - 1, 0)], shares[min(place + 1, GRID - 1)]
    return min(1.0, NUISANCE_ERROR + worst)


def log_of(chance: float) -> float:
    return math.log(max(chance, 1e-300))


def extreme_tables(n: int, most: float, seen: float, margin: float) -> tuple[Counts, Counts]:
    """The counts of losses and of gains whose score is not above the one seen.

    Tables with so many unequal answers that they have no chance worth adding, even where a share `most` is unequal, are
    left out.
    """
    widest = min(n, math.ceil(n * most + 9 * math.sqrt(n * most * (1 - most) + 1) + 9))
    ones, others = np.meshgrid(np.arange(widest + 1), np.arange(widest + 1), indexing="ij")
    inside = ones + others <= widest
    ones, others = ones[inside], others[inside]
    extreme = scores(ones, others, n, margin) <= seen + 1e-9
    return ones[extreme], others[extreme]


def scores(plus: ArrayLike, minus: ArrayLike, n: int, difference: float) -> Floats:
    """Tango's statistic of a supposed difference, about standard normal where it is the true one: what was seen less
    what was supposed, by its deviation with the share of unequal answers that is likeliest then.
    """
    one, other = np.asarray(plus, dtype=np.float64), np.asarray(minus, dtype=np.float64)
    b = -one - other + (2 * n - one + other) * difference
    c = -other * difference * (1 - difference)
    share = (np.sqrt(np.maximum(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
    variance = np.maximum(n * (2 * share + difference * (1 - difference)), 1e-12)
    found: Floats = (one - other - n * difference) / np.sqrt(variance)
    return found


def better_p_value(differences: ArrayLike) -> float:
    """The p-value of "the mean difference is at most 0": small where it is surely positive.

    Right or wrong answers: the exact sign test on the questions on which the two differ, which under the null
    hypothesis of equal means are coins. Graded ones: betting.

    >>> round(better_p_value([1] * 8 + [-1] * 2 + [0] * 40), 4)
    0.0547
    """
    found = np.asarray(differences, dtype=np.float64)
    if not found.size:
        return 1.0
    if not are_signs(found):
        return betting.p_value(found)
    wins, losses = int((found > 0.5).sum()), int((found < -0.5).sum())
    return at_most(losses, wins + losses, 0.5) if wins + losses else 1.0


def paired_interval(differences: ArrayLike, *, level: float = 0.95) -> tuple[float, float]:
    """An interval for the mean difference that holds on few questions, too: Tango's of right or wrong answers, the
    betting one of graded ones.
    """
    found = np.asarray(differences, dtype=np.float64)
    if not are_signs(found):
        return betting.interval(found, level=level)
    plus, minus = int((found > 0.5).sum()), int((found < -0.5).sum())
    return tango(plus, minus, len(found), level=level)


def tango(plus: int, minus: int, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """The score interval of a difference of paired shares (Tango 1998, Statistics in Medicine 17: 891-908).

    plus, minus: questions that only the one, only the other has right, of n.

    >>> [round(end, 4) for end in tango(12, 2, 50)]
    [0.0611, 0.3447]
    """
    z, observed = quantile((1 + level) / 2), (plus - minus) / n

    def end(outer: float) -> float:
        inner = observed
        for _ in range(60):
            middle = (inner + outer) / 2
            if abs(float(scores(plus, minus, n, middle))) <= z:
                inner = middle
            else:
                outer = middle
        return inner

    return end(-1.0), end(1.0)


def quantile(share: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)


def questions_to_certify(losses: ArrayLike, margin: float, error: float, *, power: float = 0.8) -> int | None:
    """About how many questions would show that the mean loss is below `margin`, were mean and variance as seen here.

    The size of a one-sided z-test, so an estimate; None where the loss seen is not below the margin, or more than
    MOST_QUESTIONS would be needed.
    """
    found = np.asarray(losses, dtype=np.float64)
    room = margin - float(found.mean()) if len(found) else 0.0
    if len(found) < 2 or room <= 0:
        return None
    spread = float(found.std(ddof=1))
    needed = math.ceil(((quantile(1 - error) + quantile(power)) * spread / room) ** 2)
    return max(needed, least_questions(margin, error)) if needed <= MOST_QUESTIONS else None


def least_questions(margin: float, error: float) -> int:
    """How many questions, no two answers unequal, show that the mean loss is below `margin`.

    >>> least_questions(0.03, 0.1)
    76
    """
    return math.ceil(math.log(error - NUISANCE_ERROR) / math.log1p(-margin)) if 0 < margin < 1 else 1
