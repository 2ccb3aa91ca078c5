"""The bets behind `quorum watch`: against a direct computation, and few false alarms in simulated runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.algorithms.watch import (
    ALARM_STAKES,
    choose_sampling,
    compute_alarm_capital,
    compute_broken_share,
    compute_confirming_capital,
)

ALARM = 20.0


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([1.0, 0.25]), st.booleans()), max_size=12),
    st.sampled_from([0.05, 0.4]),
)
def test_the_capital_is_the_weighted_mean_of_bets_that_begin_with_each_block(
    answers: list[tuple[float, float, bool]], limit: float
) -> None:
    z, weights = [answer[0] for answer in answers], [answer[1] for answer in answers]
    starts = [answer[2] for answer in answers]
    capital = compute_alarm_capital(z, limit, starts, weights)
    assert len(capital) == len(answers)
    for n in range(1, len(answers) + 1):
        begins = [i for i in range(n) if i == 0 or starts[i]]
        total = 1 / (len(begins) + 1)  # kept for the blocks to come
        for block, begin in enumerate(begins):
            factors = [
                np.prod([1 + stake * weights[i] * (z[i] - limit) / limit for i in range(begin, n)])
                for stake in ALARM_STAKES
            ]
            total += float(np.mean(factors)) / ((block + 1) * (block + 2))
        assert capital[n - 1] == pytest.approx(total)


def test_few_runs_at_the_limit_ever_alarm_and_all_runs_far_above_it_do() -> None:
    random = np.random.default_rng(1)
    starts = np.arange(2000) % 100 == 0
    at_limit = (random.random((400, 2000)) < 0.1).astype(float)
    false_alarms = (compute_alarm_capital(at_limit, 0.1, starts).max(axis=1) >= ALARM).mean()
    assert false_alarms <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5
    worse_later = at_limit.copy()
    worse_later[:, 1000:] = random.random((400, 1000)) < 0.3
    assert (compute_alarm_capital(worse_later, 0.1, starts).max(axis=1) >= ALARM).all()


def test_a_label_that_comes_late_only_adds_to_the_capital() -> None:
    z = np.array([0, 1, 0, 1, 1, 0, 0, 1.0])
    starts = [True] + [False] * 7
    capital = compute_alarm_capital(z, 0.1, starts)
    for i in np.flatnonzero(z):
        without = z.copy()
        without[i] = 0  # no label yet
        assert (compute_alarm_capital(without, 0.1, starts) <= capital).all()


def test_a_mean_above_the_limit_is_rarely_confirmed() -> None:
    z = (np.random.default_rng(2).random((400, 1000)) < 0.06).astype(float)
    assert (compute_confirming_capital(z, 0.05).max(axis=1) >= ALARM).mean() <= 0.05


def test_the_interval_holds_the_mean_and_labels_that_are_missing_widen_it() -> None:
    z = (np.random.default_rng(3).random(600) < 0.2).astype(float)
    low, high = compute_broken_share(z, z)
    assert 0.1 < low < 0.2 < high < 0.3
    missing = np.arange(600) % 3 == 0
    wider_low, wider_high = compute_broken_share(np.where(missing, 0, z), np.where(missing, 1, z))
    assert wider_low < low < high < wider_high


def test_doubtful_answers_are_sampled_more_often_within_the_budget() -> None:
    first, second = choose_sampling([160, 40], [2, 20], [700, 300], 0.05)
    assert 0.7 * first + 0.3 * second == pytest.approx(0.05)
    assert second > 3 * first
    assert choose_sampling([500, 500], [0, 500], [500, 500], 0.01)[0] == 0.01  # never below 1%
