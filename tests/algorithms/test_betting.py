"""Betting: the chance of a false alarm, the coverage of intervals, and leads that no remaining question can undo."""

import math

import numpy as np
import pytest

from quorum.algorithms.betting import (
    compute_capital,
    compute_interval,
    compute_lower_bound,
    compute_p_value,
    compute_share_interval,
)

REPETITIONS = 300
REJECTION_CAPITAL = 20  # 1 / 0.05: the hypothesis is rejected at the level 5%
THREE_STANDARD_ERRORS = 3 * math.sqrt(0.05 * 0.95 / REPETITIONS)  # of a share of 5% among the repetitions


def test_the_capital_is_the_average_of_seven_bets() -> None:
    stakes = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9)
    expected = np.mean([(1 + f) * (1 + 0.5 * f) * (1 - f) for f in stakes])
    assert compute_capital([1, 0.5, -1])[-1] == pytest.approx(expected)


def test_bets_without_replacement_use_the_remaining_questions() -> None:
    # The hypothesis: the mean of all four values is at most 0. If the first value is 1, the hypothesis implies that the
    # mean of the other three is at most -1/3. Each stake is divided by the largest possible loss: 1 (from 0 down to -1)
    # for the first value, 2/3 (from -1/3 down to -1) for the second value.
    capital = compute_capital([1, 0], population=4)
    stakes = np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])
    assert capital[-1] == pytest.approx(np.mean((1 + stakes) * (1 + stakes / (2 / 3) * (1 / 3))))


def test_a_lead_is_certain_once_the_remaining_answers_can_neither_undo_nor_equal_it() -> None:
    assert compute_capital([1, 1], population=4)[-1] < math.inf
    assert compute_capital([1, 1, 0.5], population=4)[-1] == math.inf
    assert compute_capital([1, 1, -1], population=3).tolist()[1:] == [math.inf, math.inf]
    assert np.isfinite(compute_capital([1, 1, 1, -1, -1, -1], population=6)).all()


@pytest.mark.parametrize("population", [None, 200])
def test_a_true_null_hypothesis_is_seldom_rejected_however_often_one_looks(population: int | None) -> None:
    rng = np.random.default_rng(5)
    if population is None:
        values = rng.choice([1.0, 0.0, -1.0], p=[0.15, 0.7, 0.15], size=(REPETITIONS, 200))
    else:
        values = np.array([rng.permutation([1.0] * 30 + [0.0] * 140 + [-1.0] * 30) for _ in range(REPETITIONS)])
    assert (
        compute_capital(values, population=population).max(axis=1) >= REJECTION_CAPITAL
    ).mean() <= 0.05 + THREE_STANDARD_ERRORS


def test_a_difference_is_found() -> None:
    rng = np.random.default_rng(6)
    values = rng.choice([1.0, 0.0, -1.0], p=[0.2, 0.75, 0.05], size=(100, 300))
    assert (compute_capital(values).max(axis=1) >= REJECTION_CAPITAL).mean() > 0.9


def test_intervals_contain_the_mean_of_few_and_of_many_values() -> None:
    rng = np.random.default_rng(7)
    for n in (20, 120):
        missed_count = 0
        for _ in range(REPETITIONS // 3):
            low, high = compute_share_interval(rng.random(n) < 0.3)
            missed_count += not low <= 0.3 <= high
        # With a third of the repetitions, the standard error is sqrt(3) times as large; 2 is above that.
        assert missed_count <= REPETITIONS // 3 * (0.05 + 2 * THREE_STANDARD_ERRORS)


def test_an_interval_closes_when_the_whole_population_was_seen() -> None:
    values = [1.0, 0.0, 0.0, 1.0, 0.0]
    low, high = compute_share_interval(values, population=5)
    assert low == pytest.approx(0.4, abs=1e-6)
    assert high == pytest.approx(0.4, abs=1e-6)


def test_an_interval_consists_of_a_lower_bound_and_an_upper_bound() -> None:
    values = [0.5, -0.25, 1.0, 0.0] * 10
    low, high = compute_interval(values)
    assert low == compute_lower_bound(values, 0.025)
    assert -high == compute_lower_bound([-value for value in values], 0.025)
    assert compute_p_value(values, mean=low - 0.01) <= 0.025 < compute_p_value(values, mean=low + 0.01)
    assert compute_interval([]) == (-1.0, 1.0)
