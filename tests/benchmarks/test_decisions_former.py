"""The procedures used before, with which the benchmark compares: they agree with reference implementations."""

import numpy as np
import pytest
import scipy

from benchmarks.decisions_former import (
    MAX_NUMBERS_PER_DRAW,
    compute_bootstrap_interval,
    compute_mcnemar_p_value,
    compute_sign_flip_p_value,
    name_methods_behind,
    split_row_count,
)

# The exact match and F1 of one method on 300 questions, and the exact match of another method.
RNG = np.random.default_rng(7)
EM = (RNG.random(300) < 0.4).astype(float)
F1 = np.round(np.where(EM > 0, 1, RNG.choice([0, 0, 0.5, 2 / 3, 0.4], 300)), 6)
OTHER_EM = np.where(RNG.random(300) < 0.7, EM, 1 - EM)


@pytest.mark.parametrize("values", [EM, F1, F1 - OTHER_EM, RNG.normal(2, 5, 80)])
def test_the_interval_is_that_of_scipy(values: np.ndarray) -> None:
    interval = compute_bootstrap_interval(values)
    scipy_result = scipy.stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=9999, rng=np.random.default_rng(1)
    )
    standard_error = scipy_result.standard_error
    assert interval.mean == pytest.approx(values.mean())
    assert interval.low == pytest.approx(scipy_result.confidence_interval.low, abs=0.15 * standard_error)
    assert interval.high == pytest.approx(scipy_result.confidence_interval.high, abs=0.15 * standard_error)


def test_the_interval_covers_the_true_mean_as_often_as_it_says() -> None:
    samples = np.random.default_rng(3).random((400, 200)) < 0.3
    is_covered = [
        low <= 0.3 <= high
        for _, low, high in (compute_bootstrap_interval(sample, resamples=1000) for sample in samples)
    ]
    assert 0.92 <= np.mean(is_covered) <= 0.98


def test_an_interval_is_reproducible_and_independent_of_order() -> None:
    assert compute_bootstrap_interval(F1) == compute_bootstrap_interval(F1) == compute_bootstrap_interval(F1[::-1])
    assert compute_bootstrap_interval(F1, seed=1) != compute_bootstrap_interval(F1)


def test_an_interval_of_equal_values_has_no_width() -> None:
    assert compute_bootstrap_interval([0.5]) == (0.5, 0.5, 0.5)
    assert compute_bootstrap_interval(np.ones(20)) == (1, 1, 1)


def test_resamples_of_many_distinct_values_are_drawn_in_parts() -> None:
    assert list(split_row_count(10, MAX_NUMBERS_PER_DRAW // 4)) == [4, 4, 2]  # a part holds 4 of these rows
    # A row that is longer than MAX_NUMBERS_PER_DRAW is drawn alone.
    assert list(split_row_count(3, 2 * MAX_NUMBERS_PER_DRAW)) == [1, 1, 1]
    interval = compute_bootstrap_interval(np.arange(1000), resamples=2000)
    # The mean of 0, 1, ..., 999 is 499.5, and their standard deviation 289.
    assert interval.low == pytest.approx(499.5 - 1.96 * 289 / 1000**0.5, abs=2)


@pytest.mark.parametrize(
    ("only_first", "only_second"),  # questions that only one of two methods answers correctly
    [(0, 0), (1, 0), (3, 9), (20, 41), (700, 800), (5, 5)],
)
def test_mcnemars_test_is_the_exact_binomial_test(only_first: int, only_second: int) -> None:
    # In addition, both methods answer 4 questions correctly, and both answer 2 wrongly.
    first_scores = np.concatenate([np.ones(only_first + 4), np.zeros(only_second + 2)])
    second_scores = np.concatenate([np.zeros(only_first), np.ones(4 + only_second), np.zeros(2)])
    count = only_first + only_second
    expected = scipy.stats.binomtest(only_first, count).pvalue if count else 1.0  # by definition
    assert compute_mcnemar_p_value(first_scores, second_scores) == pytest.approx(expected)
    assert compute_mcnemar_p_value(second_scores, first_scores) == compute_mcnemar_p_value(first_scores, second_scores)


@pytest.mark.parametrize("count", [2, 3, 5, 9])
def test_the_permutation_test_of_few_differences_is_exact(count: int) -> None:
    differences = np.round(np.random.default_rng(count).normal(0.3, 1, count), 3)
    expected = scipy.stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    # Questions without a difference do not change the p-value.
    assert compute_sign_flip_p_value(np.append(differences, np.zeros(30))) == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(
    "differences",
    [
        np.round(np.random.default_rng(5).choice([0, 0.5, -0.5, 1, -1, 1 / 3], 200), 6),
        np.random.default_rng(6).normal(0.1, 1, 200),
    ],
    ids=["repeated", "distinct"],
)
def test_the_permutation_test_of_many_differences_is_that_of_scipy(differences: np.ndarray) -> None:
    expected = scipy.stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=9999, rng=np.random.default_rng(1)
    )
    assert compute_sign_flip_p_value(differences) == pytest.approx(expected.pvalue, abs=0.02)
    assert compute_sign_flip_p_value(differences) == compute_sign_flip_p_value(differences)  # reproducible


def test_without_a_difference_nothing_is_significant() -> None:
    assert compute_sign_flip_p_value(np.zeros(50)) == 1
    assert compute_sign_flip_p_value([]) == 1
    assert compute_sign_flip_p_value([0.5]) == 1
    assert compute_mcnemar_p_value(EM, EM) == 1


def test_the_methods_behind_are_those_that_differ_from_the_highest_mean_after_holms_correction() -> None:
    scores = np.zeros((40, 3))
    scores[:20, 0], scores[:15, 1] = 1.0, 1.0  # 5 and 20 questions behind: p = 2/32 and 2/2**20
    assert name_methods_behind(scores, graded=False).tolist() == [False, False, True]
    assert name_methods_behind(scores, graded=True).tolist() == [False, False, True]
