"""The simulations of `benchmarks.decisions simulate`, with few repetitions."""

import pytest

from benchmarks.decisions import RECORDED_FOLDER
from benchmarks.decisions_recorded import read_recorded_set
from benchmarks.decisions_replay import compute_error_share_allowed_by_chance
from benchmarks.decisions_simulated import (
    judge_baseline,
    judge_claims,
    judge_mean_intervals,
    judge_questions_needed,
    list_equal_cases,
    list_mean_cases,
    make_documents,
    make_drawn,
    make_f1,
    make_rare_losses,
    make_right_or_wrong,
)
from quorum.algorithms.best_set import ALPHA

REPETITIONS = 60
ALLOWED = compute_error_share_allowed_by_chance(ALPHA, REPETITIONS)


@pytest.mark.parametrize(
    "case",
    [make_right_or_wrong([0.5] * 12, 60), make_f1(6, 50), make_rare_losses(20), make_documents(20, 5, 0.3, methods=6)],
    ids=lambda case: case.name,
)
def test_a_method_that_is_one_of_the_best_is_hardly_ever_named_as_behind(case: object) -> None:
    assert judge_claims(case, REPETITIONS)["false"] <= ALLOWED  # type: ignore[arg-type]


def test_the_procedure_used_before_claimed_too_much() -> None:
    assert judge_claims(make_rare_losses(20), REPETITIONS)["former_false"] > 0.5
    assert judge_claims(make_documents(10, 10, 0.3), REPETITIONS)["former_false"] > ALLOWED


def test_methods_truly_behind_are_named_about_as_often_as_before() -> None:
    case = make_drawn(read_recorded_set(RECORDED_FOLDER / "triviaqa.npz"), 100)
    figures = judge_claims(case, 20)
    assert figures["false"] == 0
    assert figures["power"] > 0.1
    assert figures["power"] >= figures["former_power"] - 0.02


def test_the_interval_of_the_winner_against_a_baseline_covers_the_truth() -> None:
    figures = judge_baseline(make_right_or_wrong([0.5] * 12, 50), REPETITIONS)
    assert figures["false"] <= ALLOWED
    assert min(figures["winner"], figures["all"]) >= 1 - ALLOWED
    assert figures["former_winner"] < figures["winner"]


def test_intervals_of_a_mean_cover_it_where_the_bootstrap_does_not() -> None:
    case, true_mean = next(item for item in list_mean_cases() if item[0].name == "97% right, n = 10")
    figures = judge_mean_intervals(case, true_mean, REPETITIONS)
    assert figures["today"] >= 1 - ALLOWED
    assert figures["former"] < 0.5


def test_more_questions_are_asked_for_than_there_are() -> None:
    figures = judge_questions_needed(read_recorded_set(RECORDED_FOLDER / "popqa.npz"), 8)
    assert figures["enough"] == 0
    assert 0 <= figures["named"] <= 1


def test_the_cases_have_names_of_their_own() -> None:
    recorded_sets = [read_recorded_set(file) for file in sorted(RECORDED_FOLDER.glob("*.npz"))]
    names = [case.name for case in list_equal_cases(recorded_sets)]
    assert len(set(names)) == len(names)
    assert all(case.is_best.all() for case in list_equal_cases(recorded_sets))
