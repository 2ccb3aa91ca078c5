"""Finds the lowest confidence at which a method may answer, with a guarantee that few of its answers are wrong.

Learn then Test (Angelopoulos et al. 2021, arXiv:2110.01052): we test the thresholds of a fixed grid, from the highest
down. The hypothesis at each threshold is "more than `at_most` of the answers are wrong". An exact binomial test tests
it. We skip a threshold that fewer than `count_fewest_answers` answers reach. We stop at the first threshold whose
hypothesis is not rejected, and return the threshold before it. With probability 1 - error, the returned threshold
keeps this promise on new questions like the recorded ones:

    P(wrong | answered) <= at_most,

even if answers with a higher confidence are not more often right.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quorum.algorithms.binomial import binomial_cdf

THRESHOLD_STEPS = 100  # thresholds 1.00, 0.99, ... 0.00
ROUNDING_ERROR = 1e-9
MOST_ANSWERS = 100_000  # if more are needed, we say that no number of answers is enough


@dataclass(frozen=True)
class Threshold:
    """Answer if the confidence is `value` or more.

    questions: how many questions are recorded; answered: how many of them are answered at this threshold; wrong: how
    many of these answers are wrong; p_value: the p-value of the hypothesis that more than `at_most` of the answers are
    wrong.
    """

    value: float
    answered: int
    wrong: int
    questions: int
    p_value: float


@dataclass(frozen=True)
class NoThreshold:
    """No threshold keeps the promise.

    answered, wrong: how many of the recorded questions are answered, and how many of these wrongly, at one threshold:
    the one that would need the fewest questions to keep the promise. questions_needed: about how many questions that
    threshold would need; None if more questions do not help at any threshold. In that case answered and wrong count all
    answers with a confidence.
    """

    answered: int
    wrong: int
    questions_needed: int | None


def count_fewest_answers(at_most: float, error: float) -> int:
    """The fewest answers for which a promise is possible, if none of them is wrong: ln error / ln(1 - at_most).

    >>> count_fewest_answers(0.05, 0.05)
    59
    """
    return math.ceil(math.log(error) / math.log1p(-at_most) - ROUNDING_ERROR)


def find_threshold(
    confidence: ArrayLike, wrong: ArrayLike, questions: int, at_most: float, error: float
) -> Threshold | NoThreshold:
    """The lowest threshold that keeps the promise (see this module's docstring), or why there is none.

    confidence: in [0, 1], of every answer that has one; wrong: whether each of these answers is wrong; questions: how
    many were asked. at_most: the largest share of wrong answers that is promised, 0 < at_most < 1; error: the
    largest allowed probability that the promise is not kept.

    >>> find_threshold([0.9] * 100 + [0.2] * 50, [False] * 100 + [True] * 50, 150, 0.05, 0.05).value
    0.21
    """
    confidences, is_wrong = np.asarray(confidence, dtype=np.float64), np.asarray(wrong, dtype=np.bool_)
    fewest, lowest_threshold = count_fewest_answers(at_most, error), None
    for step in range(THRESHOLD_STEPS, -1, -1):
        is_answered = confidences >= step / THRESHOLD_STEPS - ROUNDING_ERROR
        answer_count = int(is_answered.sum())
        if answer_count < fewest:
            continue
        mistakes = int(is_wrong[is_answered].sum())
        p_value = binomial_cdf(mistakes, answer_count, at_most)
        if p_value > error:
            break
        lowest_threshold = Threshold(step / THRESHOLD_STEPS, answer_count, mistakes, questions, p_value)
    return lowest_threshold or explain_no_threshold(confidences, is_wrong, questions, at_most, error)


def explain_no_threshold(
    confidences: np.ndarray, is_wrong: np.ndarray, questions: int, at_most: float, error: float
) -> NoThreshold:
    """How many questions would be enough at the best threshold, if the share of wrong answers there stays the same."""
    best: tuple[int, int, int] | None = None  # (questions needed, answers, wrong answers) at the best threshold so far
    for value in np.unique(confidences):
        is_answered = confidences >= value
        answer_count, mistakes = int(is_answered.sum()), int(is_wrong[is_answered].sum())
        share = mistakes / answer_count
        # A threshold that needs more questions than the best so far is not better, so larger numbers are not tried.
        most_answers = MOST_ANSWERS if best is None else min(MOST_ANSWERS, best[0] * answer_count // questions)
        answers_needed = count_answers_needed(share, at_most, error, most_answers)
        if answers_needed is not None:
            questions_needed = math.ceil(answers_needed * questions / answer_count)
            if best is None or questions_needed < best[0]:
                best = (questions_needed, answer_count, mistakes)
    if best is None:
        return NoThreshold(len(confidences), int(is_wrong.sum()), None)
    # The recorded questions were not enough, so at least one more is needed.
    return NoThreshold(best[1], best[2], int(max(best[0], questions + 1)))


def count_answers_needed(share: float, at_most: float, error: float, most: int = MOST_ANSWERS) -> int | None:
    """How many answers would be enough if this share of them is wrong; None if no number up to `most` is enough.

    One answer fewer is not enough. A still smaller number may be enough, because the number of wrong answers is
    rounded up.

    >>> count_answers_needed(0.0, 0.05, 0.05), count_answers_needed(0.06, 0.05, 0.05)
    (59, None)
    """

    def is_too_few(answers: int) -> bool:
        return binomial_cdf(math.ceil(share * answers), answers, at_most) > error

    if share >= at_most:
        return None
    low, high = 1, count_fewest_answers(at_most, error)
    while low <= most and high <= MOST_ANSWERS and is_too_few(high):
        low, high = high, 2 * high
    while low < high and low <= most:
        middle = (low + high) // 2
        if is_too_few(middle):
            low = middle + 1
        else:
            high = middle
    return high if low <= most and high <= most else None
