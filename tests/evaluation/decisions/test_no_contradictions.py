"""No command recommends a method that another command calls "not among the best" on the same rows."""

from pathlib import Path

import pytest
from decision_matrices import RECORDED_NAMES, make_scripted_matrices, read_recorded_matrix, script_matrix
from matrix_results import Matrix, decide_matrix, write_matrix

from quorum.algorithms.race import RACE_MODES
from quorum.evaluation.compare.recommend import convert_recommendation_to_json
from quorum.evaluation.decisions.calibrate import calibrate_methods, describe_promise
from quorum.evaluation.decisions.compose import Guarantee, compose
from quorum.evaluation.decisions.gate import decide_gate, describe_gate
from quorum.evaluation.decisions.recorded_results import read_results

SCRIPTED = make_scripted_matrices()


def find_recommendations(folder: Path, matrix: Matrix) -> tuple[dict[str, str], set[str]]:
    """What each command recommends, and the methods that some command calls "not among the best"."""
    recommended, behind = {}, set[str]()
    compared = write_matrix(folder / "compare", matrix)
    decision = decide_matrix(compared, matrix)
    recommended["compare"] = str(decision.recommendation.cheapest)
    behind |= set(convert_recommendation_to_json(decision.recommendation)["not_among_best"])
    composition = compose(read_results(compared), Guarantee(lose_at_most=0.08))
    if len(composition.cascade) == 1:
        recommended["compose"] = composition.cascade[0].method
    recommended["compose, a single method"] = composition.choice.recommended
    behind |= set(composition.choice.not_among_best)
    for mode in RACE_MODES:
        raced = write_matrix(folder / mode, matrix)
        race_decision = decide_matrix(raced, matrix, mode)
        recommended[f"race {mode}"] = str(race_decision.recommendation.cheapest)
        behind |= set(convert_recommendation_to_json(race_decision.recommendation)["not_among_best"])
        raced_composition = compose(read_results(raced), Guarantee(lose_at_most=0.08))
        recommended[f"compose after race {mode}"] = raced_composition.choice.recommended
        behind |= set(raced_composition.choice.not_among_best)
    return recommended, behind


def check(folder: Path, matrix: Matrix) -> tuple[dict[str, str], set[str]]:
    """What `find_recommendations` returns, once no command contradicts another."""
    recommended, behind = find_recommendations(folder, matrix)
    assert {command: name for command, name in recommended.items() if name in behind} == {}
    # Commands that see the same rows recommend the same method.
    assert recommended["compare"] == recommended["compose, a single method"]
    for mode in RACE_MODES:
        assert recommended[f"race {mode}"] == recommended[f"compose after race {mode}"]
    return recommended, behind


QUICK_NAME = "10 equal methods, 200 questions of 50 documents"


def test_commands_do_not_contradict_each_other_on_scripted_answers(tmp_path: Path) -> None:
    check(tmp_path, SCRIPTED[QUICK_NAME])


def test_commands_do_not_contradict_each_other_where_one_method_wins(tmp_path: Path) -> None:
    shares = {"cot": 0.8, "concat": 0.4, "filco": 0.35}
    matrix = script_matrix(shares, {"cot": 900.0, "concat": 500.0, "filco": 400.0}, 100, seed=5)
    recommended, behind = check(tmp_path, matrix)
    assert set(recommended.values()) == {"cot"}
    assert behind == {"concat", "filco"}


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in SCRIPTED if name != QUICK_NAME and not name.startswith("60")])
def test_commands_do_not_contradict_each_other_on_answers_of_many_methods(name: str, tmp_path: Path) -> None:
    check(tmp_path, SCRIPTED[name])


@pytest.mark.long
@pytest.mark.parametrize("name", RECORDED_NAMES)
def test_commands_do_not_contradict_each_other_on_recorded_answers(name: str, tmp_path: Path) -> None:
    check(tmp_path, read_recorded_matrix(name))


def test_a_method_far_below_the_highest_mean_is_not_recommended_for_a_few_tokens_less(tmp_path: Path) -> None:
    matrix = next(iter(SCRIPTED.values()))
    for mode in (None, *RACE_MODES):
        decision = decide_matrix(write_matrix(tmp_path / str(mode), matrix), matrix, mode)
        assert decision.recommendation.cheapest == "cot"
        assert not any("filco" in sentence and "worse" in sentence for sentence in decision.recommendation.sentences)


def test_a_dropped_method_is_dropped_and_never_called_worse(tmp_path: Path) -> None:
    matrix = SCRIPTED["one of 8 leads by 12 points, 400 questions"]
    decision = decide_matrix(write_matrix(tmp_path / "race", matrix), matrix, "questions")
    assert decision.scores.race is not None
    dropped = {standing.method for standing in decision.scores.race.dropped_standings}
    content = convert_recommendation_to_json(decision.recommendation)
    assert dropped
    assert dropped.isdisjoint(content["not_among_best"])
    assert dropped.isdisjoint(content["may_be_best"])
    assert not any("worse" in sentence for sentence in decision.recommendation.sentences)


def test_calibrate_and_gate_say_so_where_they_name_a_method_that_is_not_among_the_best(tmp_path: Path) -> None:
    matrix = read_recorded_matrix("squad_open")
    results = read_results(write_matrix(tmp_path / "out", matrix))
    decision = decide_matrix(tmp_path / "out", matrix)
    choice = decision.recommendation.choice
    assert choice is not None
    calibrated_methods = [item for item in calibrate_methods(results, 0.7, 0.05) if item.threshold is not None]
    assert len(calibrated_methods) > 2
    for item in calibrated_methods:
        sentence = describe_promise(item, 0.7, 0.95)
        assert ("Not among the best of these methods" in sentence) == (item.method in choice.not_among_best)
        assert item.recommended in (None, choice.recommended)
    assert (calibrated_methods[0].method in choice.may_be_best) == any(
        item.method in choice.may_be_best for item in calibrated_methods
    )
    behind = next(name for name in choice.not_among_best if choice.means[name] > choice.means[choice.highest] - 0.2)
    gate = decide_gate(results, results, 0.3, methods=(choice.highest, behind))
    assert (gate.verdict, gate.is_new_among_best, gate.recommended) == ("pass", False, choice.recommended)
    assert f"Not among the best of its results (p < .05, corrected): {behind}" in describe_gate(gate)
