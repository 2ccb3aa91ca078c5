"""Comparisons of two methods on the same questions.

The margin test shows that a method is worse than another by less than a margin (`compute_margin_p_value`). Its error
rate is computed exactly here, as a sum over all possible counts of lost and gained questions. The other rates are
estimated from random samples. Graded losses and differences are those that may be other numbers than 1, 0 and -1.
"""

import math
from itertools import product

import numpy as np
import pytest

from quorum.algorithms import betting
from quorum.algorithms.binomial import binomial_cdf, clopper_pearson_upper, compute_log_factorials
from quorum.algorithms.mean_interval import compute_bounded_mean_interval
from quorum.algorithms.paired import (
    compute_margin_p_value,
    compute_margin_p_value_of_counts,
    compute_paired_interval,
    compute_superiority_p_value,
    compute_tango_interval,
    compute_tango_statistic,
    count_fewest_questions,
    estimate_questions_to_certify,
)


@pytest.mark.parametrize(("n", "margin", "error"), [(30, 0.1, 0.1), (30, 0.2, 0.05)])
def test_the_margin_test_rejects_a_true_null_hypothesis_at_most_as_often_as_stated(
    n: int, margin: float, error: float
) -> None:
    # A table is a pair: the number of questions lost and the number gained.
    tables = [(lost, gained) for lost in range(n + 1) for gained in range(n + 1 - lost)]
    rejected = [table for table in tables if compute_margin_p_value_of_counts(n, *table, margin) <= error]
    assert rejected
    losses, gains = np.array(rejected).T
    log_factorials = compute_log_factorials(n)
    log_counts = log_factorials[n] - log_factorials[losses] - log_factorials[gains] - log_factorials[n - losses - gains]
    largest_error = 0.0
    for unequal_share in np.linspace(margin, 1, 120):  # the share of questions on which the methods differ
        for mean_loss in np.linspace(margin, unequal_share, 4):
            shares = ((unequal_share + mean_loss) / 2, (unequal_share - mean_loss) / 2, 1 - unequal_share)
            log_loss_share, log_gain_share, log_equal_share = (math.log(max(share, 1e-300)) for share in shares)
            log_probabilities = (
                log_counts + losses * log_loss_share + gains * log_gain_share + (n - losses - gains) * log_equal_share
            )
            largest_error = max(largest_error, float(np.exp(log_probabilities).sum()))
    assert 0.7 * error < largest_error <= error
    rejected_tables = set(rejected)
    # If a table is rejected, so are the tables with one loss fewer and with one gain more.
    assert all((lost - 1, gained) in rejected_tables for lost, gained in rejected if lost)
    assert all((lost, gained + 1) in rejected_tables for lost, gained in rejected if lost + gained < n)


@pytest.mark.parametrize(("n", "min_rate"), [(133, 0.6), (266, 0.82), (500, 0.95)])
def test_equal_methods_are_certified_at_the_stated_rate(n: int, min_rate: float) -> None:
    rng = np.random.default_rng(n)
    samples = rng.multinomial(n, [0.05, 0.05, 0.9], size=150)
    assert (
        np.mean([compute_margin_p_value_of_counts(n, int(lost), int(won), 0.05) <= 0.1 for lost, won, _ in samples])
        > min_rate
    )


def test_graded_losses_are_tested_by_betting() -> None:
    losses = [0.25, -0.25, 0.0, 0.0] * 60
    assert compute_margin_p_value(losses, 0.1) == betting.compute_p_value([-loss for loss in losses], mean=-0.1)
    assert compute_margin_p_value(losses, 0.1) < 0.05 < compute_margin_p_value([0.25, 0.0, 0.0, 0.0] * 60, 0.06)


def test_no_questions_or_a_margin_of_one_certify_nothing() -> None:
    assert (
        compute_margin_p_value([], 0.1)
        == compute_margin_p_value([0, 0], 1.0)
        == compute_superiority_p_value([])
        == compute_superiority_p_value([0.0])
        == 1.0
    )


def test_the_sign_test_is_the_test_of_a_fair_coin() -> None:
    assert compute_superiority_p_value([1] * 5 + [0] * 9) == pytest.approx(1 / 32)
    assert compute_superiority_p_value([1, -1]) == pytest.approx(0.75)


def test_the_binomial_tail_and_bound_are_those_of_scipy() -> None:
    from scipy.stats import beta, binom

    for k, n, probability in product((0, 3, 17), (17, 60), (0.01, 0.3, 0.9)):
        assert binomial_cdf(k, n, probability) == pytest.approx(binom.cdf(k, n, probability), abs=1e-12)
        expected = 1.0 if k == n else beta.ppf(0.99, k + 1, n - k)
        assert clopper_pearson_upper(k, n, 0.01) == pytest.approx(expected, abs=1e-9)


def test_tangos_score_uses_the_most_likely_shares_under_the_supposed_difference() -> None:
    won, lost, n, difference = 12, 2, 50, 0.1
    lost_shares = np.linspace(1e-6, (1 - difference) / 2 - 1e-6, 400_001)
    log_likelihoods = won * np.log(lost_shares + difference) + lost * np.log(lost_shares)
    log_likelihoods += (n - won - lost) * np.log1p(-2 * lost_shares - difference)
    lost_share = lost_shares[log_likelihoods.argmax()]
    variance = n * (2 * lost_share + difference * (1 - difference))
    assert float(compute_tango_statistic(won, lost, n, difference)) == pytest.approx(
        (won - lost - n * difference) / math.sqrt(variance), abs=1e-4
    )


def test_tangos_interval_contains_the_true_difference_also_with_few_questions() -> None:
    rng = np.random.default_rng(3)
    samples = rng.multinomial(40, [0.12, 0.02, 0.86], size=400)
    intervals = [compute_tango_interval(int(won), int(lost), 40) for won, lost, _ in samples]
    assert np.mean([low <= 0.1 <= high for low, high in intervals]) > 0.92
    low, high = compute_tango_interval(0, 0, 30)
    assert low == pytest.approx(-high)
    assert 0 < high < 0.15


def test_graded_differences_have_gaffkes_interval() -> None:
    assert compute_paired_interval([0.5, 0.0, -0.25]) == compute_bounded_mean_interval([0.5, 0, -0.25], low=-1, high=1)
    assert compute_paired_interval([1, 0, -1]) == compute_tango_interval(1, 1, 3)


def test_without_questions_the_interval_holds_every_difference() -> None:
    assert compute_paired_interval([]) == (-1.0, 1.0)


@pytest.mark.parametrize(("margin", "error"), [(0.03, 0.1), (0.1, 0.05)])
def test_the_fewest_questions_are_enough_if_the_methods_never_differ(margin: float, error: float) -> None:
    fewest = count_fewest_questions(margin, error)
    assert compute_margin_p_value([0] * fewest, margin) <= error < compute_margin_p_value([0] * (fewest - 1), margin)
    assert compute_margin_p_value([-1] * 10, margin) <= error  # a method that wins all questions needs fewer


def test_the_number_of_questions_needed_is_estimated() -> None:
    losses = [0] * 180 + [1] * 10 + [-1] * 10
    needed = estimate_questions_to_certify(losses, 0.03, 0.1)
    assert needed is not None
    assert 200 < needed < 900
    # No number of questions is enough if the mean loss, here 0 and 1, is not below the margin.
    assert estimate_questions_to_certify(losses, -0.01, 0.1) is None
    assert estimate_questions_to_certify([1] * 50, 0.03, 0.1) is None
    assert estimate_questions_to_certify([0] * 10, 0.03, 0.1) == 76  # count_fewest_questions(0.03, 0.1)
