"""The race: which methods are dropped, when, and how seldom the best method is dropped."""

import math

import numpy as np
import pytest

from quorum.algorithms.race import RACE_MODES, Race, RaceMode, compute_worth, run_race

REPETITIONS = 120
# Three standard errors of the share of races that drop the best method, if its true value is 0.05.
THREE_STANDARD_ERRORS = 3 * math.sqrt(0.05 * 0.95 / REPETITIONS)


def draw_tables(count: int, questions: int, right_probabilities: list[float], seed: int) -> list[np.ndarray]:
    """Random tables of scores (1 right, 0 wrong), with a row for each question and a column for each method.

    right_probabilities: for each method, the probability that it answers a question right.
    """
    rng = np.random.default_rng(seed)
    shape = (questions, len(right_probabilities))
    return [(rng.random(shape) < np.array(right_probabilities)).astype(float) for _ in range(count)]


def test_exact_mode_drops_methods_that_can_no_longer_win() -> None:
    race = Race(2, population=10, mode="exact")
    for _ in range(5):
        assert race.add_step([1.0, 0.0]) == []  # five questions are left: a tie is possible
    assert race.add_step([1.0, 0.0]) == [1]
    assert race.asked_when_dropped == {1: 6}
    assert race.is_live.tolist() == [True, False]


@pytest.mark.parametrize("mode", ["exact", "questions"])
def test_the_best_method_on_these_questions_is_hardly_ever_dropped(mode: RaceMode) -> None:
    times_dropped = 0
    for table in draw_tables(REPETITIONS, 80, [0.5, 0.5, 0.45, 0.3, 0.3], seed=1):
        means = table.mean(axis=0)
        race = run_race(table, mode)
        times_dropped += not race.is_live[np.flatnonzero(means == means.max())].any()
    assert times_dropped <= (0 if mode == "exact" else REPETITIONS * (0.05 + THREE_STANDARD_ERRORS))


def test_the_best_method_on_questions_like_these_is_hardly_ever_dropped() -> None:
    # All methods are equally good, so each of them is the best, also method 0.
    races = [run_race(table, "future") for table in draw_tables(REPETITIONS, 150, [0.4, 0.4, 0.4, 0.4], seed=2)]
    assert np.mean([not race.is_live[0] for race in races]) <= 0.05 + THREE_STANDARD_ERRORS


def test_a_race_asks_fewer_questions_where_methods_differ() -> None:
    saved_shares = {mode: [] for mode in RACE_MODES}
    for table in draw_tables(10, 200, [0.6, 0.55, 0.3, 0.2, 0.1], seed=3):
        for mode in RACE_MODES:
            race = run_race(table, mode)
            answer_count = sum(race.asked_when_dropped.get(index, race.step_count) for index in range(5))
            saved_shares[mode].append(1 - answer_count / table.size)
    assert np.mean(saved_shares["exact"]) > 0.05
    assert np.mean(saved_shares["questions"]) > 0.35
    assert np.mean(saved_shares["future"]) > 0.3


def test_the_last_method_is_never_dropped() -> None:
    race = run_race([[1.0, 0.0, 0.0]] * 60, "questions")
    assert race.is_live.tolist() == [True, False, False]
    assert run_race([[1.0]] * 5, "future").is_live.tolist() == [True]


def test_every_lead_assumes_the_worst_of_a_missing_answer() -> None:
    race = Race(2, population=10, mode="exact")
    for _ in range(6):
        # the lowest and the highest possible worth: method 0 failed, so its answer may have been right or wrong
        dropped_methods = race.add_step([0.0, 0.0], [1.0, 0.0])
    assert dropped_methods == []
    assert race.leads.tolist() == [[0.0, 0.0], [-6.0, 0.0]]  # of method 0 over 1: 0; of method 1 over 0: -6


def test_answers_of_a_dropped_method_are_not_read() -> None:
    table = np.array([[1.0, 0.0, 1.0]] * 30 + [[0.0, 1.0, 1.0]] * 30)
    changed_table = table.copy()
    race = run_race(table, "questions")
    changed_table[race.asked_when_dropped[1] :, 1] = np.nan
    second_race = run_race(changed_table, "questions")
    assert second_race.asked_when_dropped == race.asked_when_dropped
    assert np.isfinite(second_race.leads).all()


def test_an_unknown_answer_costs_nothing() -> None:
    assert compute_worth(0.0, True, 1.0) == 0.0
    assert compute_worth(1.0, True, 1.0) == 1.0  # unknown was right
    assert compute_worth(0.25, False, 1.0) == -0.5  # 0.25 - 1.0 * 0.75
    assert compute_worth(0.25, False) == 0.25
