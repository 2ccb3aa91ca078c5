"""`--wrong-cost`: shares of right, wrong and unknown answers, their worth, and where the recommendation changes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_folder import make_decision

from quorum.core.errors import SetupError
from quorum.evaluation.compare.figures import compute_figures, find_shared_questions
from quorum.evaluation.compare.recommend import convert_recommendation_to_json, recommend_method
from quorum.evaluation.compare.wrong_cost import (
    choose_at_wrong_costs,
    compute_shares,
    describe_choices,
    find_worth_of_always_unknown,
)
from quorum.evaluation.metrics.registry import WORTH_MEASURE
from quorum.evaluation.run.baseline import compare_with_baseline
from quorum.evaluation.run.column_scores import ColumnScores, Row
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.race import RunningRace


def make_scores(right: int, wrong: int, unknown: int, *, calls: float = 1) -> ColumnScores:
    """The scores of a method that gave these numbers of right, wrong and unknown answers, with `calls` calls each."""
    column_scores = ColumnScores()
    count = right + wrong + unknown
    for index in range(count):
        number = index * 37 % count  # so that the kinds of answers are mixed
        em, is_unknown = float(number < right), number >= right + wrong
        row: Any = Row(
            id=f"q{index:04}", method="x", em=em, f1=em, malformed=0, seconds=0.5, error=None, unknown=is_unknown
        )
        column_scores.add(row | {"calls": calls, "input_tokens": 100 * calls, "output_tokens": calls})
    return column_scores


def test_shares_sum_to_one_and_unknown_counts_as_right_where_the_data_have_no_answer() -> None:
    shares = compute_shares(make_scores(50, 30, 20), "em", [f"q{number:04}" for number in range(100)])
    assert (shares.right, shares.wrong, shares.unknown) == pytest.approx((0.5, 0.3, 0.2))
    all_unknown = make_scores(0, 0, 10)
    all_unknown.values["em"][3] = 1.0  # the data have no answer to this question, so "unknown" is right
    shares = compute_shares(all_unknown, "em", all_unknown.ids)
    assert (shares.right, shares.wrong, shares.unknown) == pytest.approx((0.1, 0.0, 0.9))


def test_a_cautious_method_wins_once_wrong_answers_cost_enough() -> None:
    methods = {"bold": make_scores(60, 40, 0), "cautious": make_scores(50, 5, 45)}
    ids = find_shared_questions(methods)
    choices = choose_at_wrong_costs(methods, "em", method_costs={"bold": 1, "cautious": 1}, shared_ids=ids)
    assert list(dict.fromkeys(choice.best for choice in choices)) == ["bold", "cautious", "answering unknown always"]
    assert (choices[0].lowest_cost, choices[-1].highest_cost) == (0.0, 10.0)
    first_cautious = next(choice for choice in choices if choice.best == "cautious")
    assert first_cautious.lowest_cost == 0.3  # the first of SHOWN_COSTS above 2/7, where 60 - 40 * c = 50 - 5 * c
    for method in methods.values():
        method.add_worth("em", 1.0)
    figures = [
        compute_figures(name, scores, WORTH_MEASURE, cost=None, shared_ids=ids, right_measure="em")
        for name, scores in methods.items()
    ]
    assert [figure.quality for figure in figures] == pytest.approx([0.2, 0.45])
    recommendation = recommend_method(figures, methods, WORTH_MEASURE, budget={}, wrong_cost=1.0)
    assert recommendation.best == "cautious"
    assert "worth (1 for a right answer, -1 for a wrong one) 45.0%" in recommendation.sentences[0]


def test_the_sentence_names_the_cost_at_which_the_recommendation_changes() -> None:
    methods = {"bold": make_scores(700, 300, 0), "cautious": make_scores(600, 0, 400)}
    words = describe_choices(
        choose_at_wrong_costs(methods, "em", method_costs={"bold": 1, "cautious": 1}, shared_ids=methods["bold"].ids)
    )
    assert words is not None
    assert "bold at 0, cautious from 0.5 on" in words
    one_always_better = {"concat": make_scores(70, 0, 30), "base": make_scores(10, 90, 0)}
    words = describe_choices(
        choose_at_wrong_costs(
            one_always_better, "em", method_costs={"concat": 1, "base": 1}, shared_ids=one_always_better["concat"].ids
        )
    )
    assert words == "The recommendation stays concat even if a wrong answer costs as much as 10 right ones."
    assert describe_choices([]) is None


def test_answering_unknown_always_is_a_candidate_and_is_said_when_it_wins() -> None:
    methods = {"bold": make_scores(60, 140, 0), "bolder": make_scores(70, 130, 0)}
    ids = find_shared_questions(methods)
    for method in methods.values():
        method.add_worth("em", 2.0)
    figures = [compute_figures(name, scores, WORTH_MEASURE, None, ids, None, "em") for name, scores in methods.items()]
    recommendation = recommend_method(figures, methods, WORTH_MEASURE, budget={}, wrong_cost=2.0)
    assert (recommendation.best, recommendation.cheapest, recommendation.recommends_unknown) == ("bolder", None, True)
    assert recommendation.sentences[0] == (
        "Where a wrong answer costs 2 right ones, answering unknown always is best: it is worth 0.0%, and bolder, the "
        "best method, -95.0%, over 200 questions."
    )
    assert "Not among the best (p < .05, corrected): bolder (-95.0 points) and bold" in recommendation.sentences[1]
    content = convert_recommendation_to_json(recommendation)
    assert (content["cheapest"], content["recommended"]) == (None, "answering unknown always")
    words = describe_choices(choose_at_wrong_costs(methods, "em", {"bold": 1, "bolder": 1}, ids))
    assert words is not None
    assert "answering unknown always from 0.75 on" in words
    assert recommend_method(figures, methods, "em", budget={}).cheapest == "bolder"


def test_where_the_data_have_no_answer_unknown_is_right() -> None:
    methods = {"bold": make_scores(0, 100, 0), "cautious": make_scores(30, 70, 0)}
    for scores in methods.values():
        scores.unanswerable_ids = set(scores.ids[:40])
    assert find_worth_of_always_unknown(methods, ["bold"], methods["bold"].ids).mean() == 0.4


def test_on_few_questions_the_interval_of_a_difference_in_worth_stays_in_its_range() -> None:
    methods = {"bold": make_scores(30, 20, 0), "cautious": make_scores(25, 0, 25)}
    for method in methods.values():
        method.add_worth("em", 3.0)
    comparison = compare_with_baseline(methods, ["bold", "cautious"], "bold")["methods"]["cautious"][WORTH_MEASURE]
    assert comparison["difference"] == pytest.approx(25 / 50 - (30 - 60) / 50)
    assert -4 <= comparison["low"] <= comparison["difference"] <= comparison["high"] <= 4


def test_a_race_compares_methods_by_the_worth_of_their_answers() -> None:
    """Bold is right as often as cautious, but wrong where cautious says unknown. So the race drops bold if wrong
    answers have a cost, and nobody if they have none.
    """
    dropped_methods = []
    for cost in (0.0, 1.0):
        race = RunningRace(
            ["bold", "cautious"],
            units=tuple((f"q{n}",) for n in range(200)),  # each question is a unit, one step of the race
            mode="questions",
            measure="em",
            wrong_cost=cost,
        )
        for number in range(200):
            right = float(number % 2)
            race.record("bold", f"q{number}", score=right, unknown=False)
            race.record("cautious", f"q{number}", score=right, unknown=not right)
            race.settle()
        dropped_methods.append(sorted(race.asked_when_dropped))
    assert dropped_methods == [[], ["bold"]]


def test_the_decision_has_shares_and_the_costs_at_which_the_recommendation_changes(tmp_path: Path) -> None:
    decision = make_decision(tmp_path / "out", 60)
    content = json.loads((tmp_path / "out" / "recommendation.json").read_text())
    assert content["wrong_cost"] == 0
    assert content["at_wrong_costs"][0]["lowest_cost"] == 0.0
    assert content["at_wrong_costs"][-1]["highest_cost"] == 10.0
    assert any("a wrong one costs" in text or "stays" in text for text in content["sentences"])
    for figure in decision.figures:
        assert figure.right + figure.wrong + figure.unknown == pytest.approx(1.0)
        assert figure.right == pytest.approx(figure.quality)


def test_a_cost_that_is_negative_or_not_finite_is_refused(tmp_path: Path) -> None:
    for cost in (-1.0, float("inf"), float("nan")):
        with pytest.raises(SetupError, match=r"--wrong-cost .* does not fit"):
            Options(data=tmp_path / "x", wrong_cost=cost)


def test_the_worth_of_an_answer_without_a_score_is_not_known() -> None:
    column_scores = make_scores(1, 1, 1)
    column_scores.values["em"][0] = np.nan
    column_scores.add_worth("em", 2.0)
    assert np.isnan(column_scores.values[WORTH_MEASURE][0])
    assert list(column_scores.values[WORTH_MEASURE])[1:] == [-2.0, 0.0]
