"""Intervals of a mean: Clopper and Pearson's for right or wrong answers, Gaffke's bound for all others."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from quorum.algorithms.mean_interval import NUMBERS_AT_ONCE, compute_bounded_mean_interval, compute_share_interval
from quorum.evaluation.metrics.statistics import compute_mean_interval


@pytest.mark.parametrize(("right", "count"), [(30, 30), (8, 8), (0, 8), (9, 10), (49, 50), (1, 1), (123, 1000)])
def test_the_interval_of_a_share_is_that_of_clopper_and_pearson(right: int, count: int) -> None:
    expected = scipy.stats.binomtest(right, count).proportion_ci(0.95, method="exact")
    assert compute_share_interval(right, count) == pytest.approx((expected.low, expected.high), abs=1e-9)
    interval = compute_mean_interval([1.0] * right + [0.0] * (count - right))
    assert interval == pytest.approx((right / count, expected.low, expected.high), abs=1e-9)


def test_thirty_of_thirty_is_no_certainty() -> None:
    assert [round(100 * end) for end in compute_mean_interval([1] * 30)] == [100, 88, 100]
    assert [round(100 * end) for end in compute_mean_interval([1] * 8)] == [100, 63, 100]


def test_gaffkes_bound_of_zeros_and_ones_is_clopper_and_pearsons() -> None:
    """With each question as a group of its own, the general bound counts, which draws random weights."""
    for right, count in ((30, 30), (9, 10), (3, 20)):
        values = [1.0] * right + [0.0] * (count - right)
        general = compute_bounded_mean_interval(values, np.arange(count), draws=40_000)
        assert general == pytest.approx(compute_share_interval(right, count), abs=0.012)


def test_gaffkes_bound_is_the_quantile_of_a_mean_with_random_weights() -> None:
    """Each unit stands alone in the reference; units that are equal are drawn together here."""
    values = np.round(np.random.default_rng(3).choice([0, 0.25, 2 / 3, 1], 60), 6)
    documents = np.repeat(np.arange(20), [1, 2, 3, 4, 5] * 4)
    for units in (None, documents):
        places = np.arange(60) if units is None else units
        sums, sizes = np.bincount(places, weights=values), np.bincount(places)
        weights = np.random.default_rng(8).exponential(size=(40_000, len(sums) + 1))
        total = weights[:, :-1] @ sizes + weights[:, -1] * sizes.mean()
        low = np.quantile(weights[:, :-1] @ sums / total, 0.025)
        high = np.quantile((weights[:, :-1] @ sums + weights[:, -1] * sizes.mean()) / total, 0.975)
        assert compute_mean_interval(values, units)[1:] == pytest.approx((low, high), abs=0.008)


def test_an_interval_is_reproducible_and_independent_of_order() -> None:
    values = np.random.default_rng(1).random(200)
    assert compute_mean_interval(values) == compute_mean_interval(values)
    assert compute_mean_interval(values)[1:] == compute_mean_interval(values[::-1])[1:]


def test_many_distinct_values_are_drawn_in_parts() -> None:
    values = np.random.default_rng(2).random(300)
    assert NUMBERS_AT_ONCE < 10_000 * 301  # the draws do not fit into one part
    mean, low, high = compute_mean_interval(values)
    spread = 1.96 * values.std() / 300**0.5
    assert (low, high) == pytest.approx((mean - spread, mean + spread), abs=0.006)


def test_questions_of_one_document_are_one_observation() -> None:
    values, documents = np.repeat([1.0, 0.0], 50), np.repeat(np.arange(10), 10)
    alone, grouped = compute_mean_interval(values), compute_mean_interval(values, documents)
    assert grouped.mean == alone.mean == 0.5
    assert grouped.high - grouped.low > 2.5 * (alone.high - alone.low)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.booleans())
def test_an_interval_holds_the_mean_and_stays_on_the_scale(values: list[float], is_grouped: bool) -> None:
    groups = [number // 3 for number in range(len(values))] if is_grouped else None
    mean, low, high = compute_mean_interval(values, groups, -1.0, 1.0)
    assert -1 - 1e-9 <= low <= mean + 1e-6
    assert mean - 1e-6 <= high <= 1 + 1e-9
    assert high - low > 1e-3


def test_the_interval_covers_the_true_mean_at_the_end_of_the_scale_too() -> None:
    rng = np.random.default_rng(3)
    for share, count in ((0.97, 20), (0.9, 50), (0.5, 30)):
        samples = rng.random((300, count)) < share
        is_covered = [
            low <= share <= high for _, low, high in (compute_mean_interval(sample.astype(float)) for sample in samples)
        ]
        assert np.mean(is_covered) >= 0.935
