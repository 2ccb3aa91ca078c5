"""Confidence thresholds: their promise holds, and a threshold is found wherever one exists.

The promise: with probability 1 - error, at most the share `at_most` of the answers that reach the threshold is wrong.
The arguments of `find_threshold` are the confidences, whether each answer is wrong, the number of questions asked,
`at_most` and `error`.
"""

import math

import numpy as np

from quorum.algorithms.abstention import (
    NoThreshold,
    Threshold,
    count_answers_needed,
    count_fewest_answers,
    find_threshold,
)


def test_an_error_rate_of_five_per_cent_needs_at_least_59_correct_answers() -> None:
    assert count_fewest_answers(0.05, 0.05) == 59
    assert isinstance(find_threshold([0.9] * 59, [False] * 59, 59, 0.05, 0.05), Threshold)
    assert find_threshold([0.9] * 58, [False] * 58, 58, 0.05, 0.05) == NoThreshold(
        answered=58, wrong=0, questions_needed=59
    )


def test_the_promise_is_kept_even_if_confidence_misleads() -> None:
    rng, broken_promises, threshold_count = np.random.default_rng(1), 0, 0
    for _ in range(200):
        confidences = np.round(rng.random(400), 2)
        error_rates = np.where(confidences > 0.9, 0.02, np.where(confidences > 0.6, 0.06, 0.01))  # not monotone
        threshold = find_threshold(confidences, rng.random(400) < error_rates, 400, 0.05, 0.1)
        if isinstance(threshold, Threshold):
            threshold_count += 1
            grid = np.arange(round(100 * threshold.value), 101) / 100
            true_error_rates = np.where(grid > 0.9, 0.02, np.where(grid > 0.6, 0.06, 0.01))
            # Rounding gives 0 and 1 half as often as any other value.
            weights = np.where((grid == 0) | (grid == 1), 0.5, 1.0)
            broken_promises += float(np.average(true_error_rates, weights=weights)) > 0.05
    assert broken_promises / 200 <= 0.1 + 3 * math.sqrt(0.09 / 200)
    assert threshold_count > 20


def test_the_threshold_lets_as_many_answers_through_as_the_promise_allows() -> None:
    confidences = [0.9] * 100 + [0.5] * 100 + [0.1] * 100
    wrong = [False] * 100 + [False] * 98 + [True] * 2 + [True] * 50 + [False] * 50
    threshold = find_threshold(confidences, wrong, 320, 0.05, 0.05)
    assert isinstance(threshold, Threshold)
    # 0.11 is the lowest threshold of the grid (steps of 0.01) that keeps out the confidence 0.1.
    assert (threshold.value, threshold.answered, threshold.wrong, threshold.questions) == (0.11, 200, 2, 320)


def test_a_missing_threshold_comes_with_the_needed_number_of_questions() -> None:
    outcome = find_threshold([0.8] * 30, [False] * 29 + [True], 40, 0.05, 0.05)
    assert isinstance(outcome, NoThreshold)
    assert outcome.questions_needed is not None
    assert outcome.questions_needed > 100
    # In these two cases, more questions would not help.
    assert find_threshold([0.8] * 100, [True] * 50 + [False] * 50, 100, 0.05, 0.05) == NoThreshold(100, 50, None)
    assert find_threshold([], [], 10, 0.05, 0.05) == NoThreshold(0, 0, None)


def test_the_number_of_answers_needed_suffices_and_one_fewer_does_not() -> None:
    from quorum.algorithms.binomial import binomial_cdf

    needed = count_answers_needed(share=0.02, at_most=0.05, error=0.05)  # share: of wrong answers
    assert needed is not None
    assert binomial_cdf(math.ceil(0.02 * needed), needed, 0.05) <= 0.05
    assert binomial_cdf(math.ceil(0.02 * (needed - 1)), needed - 1, 0.05) > 0.05
