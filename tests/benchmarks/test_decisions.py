"""The benchmark of stopping rules (`benchmarks.decisions`): rules that others use, Quorum's own rules, and the
recorded answers on which all these rules are replayed.
"""

from pathlib import Path

import numpy as np
import pytest
from decision_results import write_results

from benchmarks.decisions import RECORDED_FOLDER
from benchmarks.decisions_former import compute_mcnemar_p_value
from benchmarks.decisions_recorded import read_recorded_set, write_recorded_set
from benchmarks.decisions_replay import (
    compute_error_share_allowed_by_chance,
    replay_cascades,
    replay_new_questions,
    replay_random_orders,
    simulate_recorded_set,
)
from benchmarks.decisions_rules import QUESTIONS_BETWEEN_LOOKS, RULES, make_mcnemar_table

MAX_BYTES_OF_ALL_FILES = 2_000_000


def test_the_table_of_p_values_is_mcnemars_test() -> None:
    for wins, losses in ((1, 0), (8, 2), (20, 9), (5, 5)):
        p = compute_mcnemar_p_value([1] * wins + [0] * losses, [0] * wins + [1] * losses)
        assert make_mcnemar_table(40)[wins + losses, losses] == pytest.approx(p)


@pytest.mark.parametrize("rule", list(RULES.values()), ids=list(RULES))
def test_every_rule_drops_the_method_that_is_always_wrong_and_keeps_the_leader(rule: object) -> None:
    table = np.zeros((60, 3))
    table[:, 0], table[::2, 1] = 1.0, 1.0  # always right, right for half of the questions, always wrong
    questions_when_dropped = rule(table)  # type: ignore[operator]
    assert 0 not in questions_when_dropped
    assert QUESTIONS_BETWEEN_LOOKS <= questions_when_dropped[2] <= 15


def test_recorded_answers_are_read_back(tmp_path: Path) -> None:
    folder = write_results(tmp_path / "out", {"concat": 0.5, "concat_pf": 0.55, "sure": 0.62}, questions=60)
    recorded_set = read_recorded_set(write_recorded_set(folder, tmp_path / "set.npz"))
    assert recorded_set.methods == ("concat", "concat_pf", "sure")
    assert recorded_set.right_by_question.shape == (60, 3)
    recorded_answers = recorded_set.make_recorded_answers("calls")
    assert recorded_answers.cost.mean(axis=1).tolist() == [1.0, 3.0, 7.0]
    assert (recorded_answers.shared_cost[0, 1] == 1).all()
    assert not recorded_answers.has_failed.any()
    assert (recorded_answers.is_known == (recorded_set.arrays["unknown"] == 0)).all()
    assert 0 < recorded_answers.is_known.mean() < 1


@pytest.mark.long
def test_our_rules_keep_their_error_rate_and_the_median_rule_exceeds_it() -> None:
    recorded_set = simulate_recorded_set([0.44] + [0.4] * 11, 120, dependence=0.5, seed=1)
    random_order_outcomes, new_question_outcomes = (
        replay_random_orders(recorded_set, 40),
        replay_new_questions(recorded_set, 40),
    )
    allowed_share = compute_error_share_allowed_by_chance(0.05, 40)
    assert random_order_outcomes["race exact"]["all_best_dropped"] == 0
    assert random_order_outcomes["race questions"]["all_best_dropped"] <= allowed_share
    assert new_question_outcomes["race future"]["all_best_dropped"] <= allowed_share
    assert new_question_outcomes["median rule, every 5"]["all_best_dropped"] > allowed_share


def test_the_recorded_answers_are_small_files_and_can_be_replayed() -> None:
    files = sorted(RECORDED_FOLDER.glob("*.npz"))
    assert len(files) == 5
    assert sum(file.stat().st_size for file in files) < MAX_BYTES_OF_ALL_FILES
    for file in files:
        recorded_set = read_recorded_set(file)
        assert len(recorded_set.methods) == 23
        assert recorded_set.about["model"]["provider"] == "embedded"
        assert recorded_set.right_by_question.shape == recorded_set.arrays["calls"].T.shape
    replay = replay_cascades(read_recorded_set(files[0]), 1, [0.08])
    assert set(replay[0.08]) == {"certified", "saved", "promise_kept"}
