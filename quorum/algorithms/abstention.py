"""The lowest confidence at which a method may answer, with a guarantee that few of its answers are wrong.

Learn then Test (Angelopoulos et al. 2021, arXiv:2110.01052) over a grid of thresholds fixed beforehand, from the
top: at each, an exact binomial test of "more than `at_most` of the answers are wrong"; the first that is not
rejected ends the walk. With probability 1 - error, on new questions like these,

    P(wrong | answered) <= at_most,

even if higher confidence does not mean more right answers.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quorum.algorithms.binomial import at_most as chance_of_at_most

STEPS = 100  # thresholds 1.00, 0.99, ... 0.00
ROUNDING = 1e-9


@dataclass(frozen=True)
class Threshold:
    """Answer where the confidence is at least `value`: so many of `of` questions were answered, so many wrong."""

    value: float
    answered: int
    wrong: int
    of: int
    p: float


@dataclass(frozen=True)
class NoThreshold:
    """No threshold keeps the promise. needed: about how many questions would do, None where more would not help."""

    answered: int
    wrong: int
    needed: int | None


def least_answers(at_most: float, error: float) -> int:
    """How many answers, none of them wrong, a promise needs: ln error / ln(1 - at_most).

    >>> least_answers(0.05, 0.05)
    59
    """
    return math.ceil(math.log(error) / math.log1p(-at_most) - ROUNDING)


def find_threshold(
    confidence: ArrayLike, wrong: ArrayLike, of: int, at_most: float, error: float
) -> Threshold | NoThreshold:
    """The lowest threshold that the walk accepts.

    confidence: of every answer that has one, in [0, 1]; wrong: whether it is; of: questions in all. at_most: the share
    of wrong answers, 0 < at_most < 1; error: the chance that the promise is not kept.

    >>> find_threshold([0.9] * 100 + [0.2] * 50, [False] * 100 + [True] * 50, 150, 0.05, 0.05).value
    0.21
    """
    sure, bad = np.asarray(confidence, dtype=np.float64), np.asarray(wrong, dtype=np.bool_)
    least, accepted = least_answers(at_most, error), None
    for step in range(STEPS, -1, -1):
        kept = sure >= step / STEPS - ROUNDING
        answered = int(kept.sum())
        if answered < least:
            continue
        mistakes = int(bad[kept].sum())
        p = chance_of_at_most(mistakes, answered, at_most)
        if p > error:
            break
        accepted = Threshold(step / STEPS, answered, mistakes, of, p)
    return accepted or missing(sure, bad, of, at_most, error)


def missing(sure: np.ndarray, bad: np.ndarray, of: int, at_most: float, error: float) -> NoThreshold:
    """What is missing, judged at the threshold with the lowest share of wrong answers among the surest answers."""
    best: tuple[float, int, int] | None = None
    for value in np.unique(sure):
        kept = sure >= value
        answered, mistakes = int(kept.sum()), int(bad[kept].sum())
        share = mistakes / answered
        needed = answers_needed(share, at_most, error)
        if needed is not None:
            questions = math.ceil(needed * of / answered)
            if best is None or questions < best[0]:
                best = (questions, answered, mistakes)
    if best is None:
        return NoThreshold(len(sure), int(bad.sum()), None)
    return NoThreshold(best[1], best[2], int(max(best[0], of + 1)))


def answers_needed(share: float, at_most: float, error: float, most: int = 100_000) -> int | None:
    """How many answers would do if that share of them were wrong; None where the share is too high for any number.

    >>> answers_needed(0.0, 0.05, 0.05), answers_needed(0.06, 0.05, 0.05)
    (59, None)
    """
    if share >= at_most:
        return None
    low, high = 1, least_answers(at_most, error)
    while high <= most and chance_of_at_most(math.ceil(share * high), high, at_most) > error:
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        if chance_of_at_most(math.ceil(share * middle), middle, at_most) > error:
            low = middle + 1
        else:
            high = middle
    return high if high <= most else None
