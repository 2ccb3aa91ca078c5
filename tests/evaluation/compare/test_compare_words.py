"""The recommendation in words: the recommended method within a budget, and the methods that may be the best."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quorum.core.errors import SetupError
from quorum.evaluation.compare.figures import compute_figures, find_shared_questions
from quorum.evaluation.compare.format_figures import format_dollars, join_and_shorten_names, join_names
from quorum.evaluation.compare.recommend import find_pareto_front, read_budget, recommend_method
from quorum.evaluation.compare.recommendation import MethodFigures, Recommendation
from quorum.evaluation.run.column_scores import ColumnScores, Row
from quorum.evaluation.run.race_result import RaceResult, Standing


def make_scores(share: float, seed: int, *, calls: float = 1, count: int = 400, failed_count: int = 0) -> ColumnScores:
    """The scores of a method that is right on this share of the questions, drawn with the seed, and that failed on the
    first `failed_count` questions.
    """
    column_scores, rng = ColumnScores(), np.random.default_rng(seed)
    for number in range(count):
        em = float(rng.random() < share)
        row: Any = Row(id=f"q{number}", method="x", em=em, f1=em, malformed=0, seconds=0.5 * calls, error=None)
        row |= {"calls": calls, "input_tokens": 100 * calls, "output_tokens": calls, "unknown": False}
        column_scores.add(row | ({"error": "no reply"} if number < failed_count else {}))
    return column_scores


def make_recommendation(
    budget: dict[str, float] | None = None, **methods: ColumnScores
) -> tuple[Recommendation, list[MethodFigures]]:
    """(the recommendation among the methods, whose models have no price; the figures of each method)."""
    shared_ids = find_shared_questions(methods)
    figures = [compute_figures(name, scores, "em", None, shared_ids) for name, scores in methods.items()]
    return recommend_method(figures, methods, "em", budget or {}), figures


def test_the_best_is_named_first_with_its_cost() -> None:
    recommendation, _ = make_recommendation(good=make_scores(0.7, 1, calls=5), poor=make_scores(0.3, 2))
    # `cheapest` is chosen from the methods that may be the best, so "poor" does not count
    assert (
        recommendation.best,
        recommendation.equal_methods,
        recommendation.cheapest,
        recommendation.pareto_front,
    ) == (
        "good",
        [],
        "good",
        ["poor", "good"],
    )
    assert recommendation.sentences[0].startswith("good is best: exact match 7")
    assert "over 400 questions, for 5.0 calls, 505 tokens, 2.50 s (p95) a question" in recommendation.sentences[0]
    assert recommendation.is_certain
    assert recommendation.sentences[1].startswith("Not among the best (p < .05, corrected): poor (-")
    assert recommendation.sentences[1].endswith(" points).")


def test_without_a_clear_winner_the_headline_says_so_and_how_many_questions_would_settle_it() -> None:
    recommendation, _ = make_recommendation(
        costly=make_scores(0.6, 1, calls=5, count=60),
        cheap=make_scores(0.58, 1, count=60),
        poor=make_scores(0.1, 3, count=60),
    )
    assert (recommendation.best, recommendation.equal_methods, recommendation.cheapest) == (
        "costly",
        ["cheap"],
        "cheap",
    )
    assert recommendation.choice is not None
    needed = recommendation.choice.questions_to_settle
    assert needed is not None
    assert not recommendation.is_certain
    assert recommendation.sentences[0].startswith(
        f"No clear winner yet: 2 of 3 methods may be the best, and about {needed:,} questions would settle it. "
        "Recommended for now is cheap, the cheapest of those within 2 points of the highest mean: exact match "
    )
    assert recommendation.sentences[1].startswith("costly has the highest mean: ")
    assert "these questions do not rule out cheap (" in recommendation.sentences[1]
    assert f"about {needed:,} questions would be enough)" in recommendation.sentences[1]
    assert recommendation.sentences[2] == "cheap takes 20% of the tokens of costly."
    assert recommendation.sentences[3].startswith("Not among the best (p < .05, corrected): poor (-")


def test_a_cheap_method_far_below_the_highest_mean_is_not_recommended() -> None:
    """On few questions hardly any method can be ruled out; being cheap is then no reason to recommend a poor one."""
    methods = {"good": make_scores(0.4, 1, calls=5, count=20), "cheap": make_scores(0.2, 1, count=20)}
    recommendation, _ = make_recommendation(**methods)
    assert recommendation.equal_methods == ["cheap"]
    assert recommendation.cheapest == "good"
    assert recommendation.sentences[1].startswith("good also has the highest mean; these questions do not rule out ")
    ids = find_shared_questions(methods)
    figures = [compute_figures(name, scores, "em", None, ids) for name, scores in methods.items()]
    assert recommend_method(figures, methods, "em", {}, margin=0.5).cheapest == "cheap"


def test_questions_of_one_document_count_once_for_a_recommendation() -> None:
    methods = {"good": make_scores(0.6, 1, count=100), "poor": make_scores(0.3, 1, count=100)}
    assert make_recommendation(**methods)[0].is_certain
    for scores in methods.values():
        scores.group_of_id = {id_: f"document {int(id_[1:]) // 20}" for id_ in scores.ids}
    recommendation, figures = make_recommendation(**methods)
    assert recommendation.equal_methods == ["poor"]  # five documents are five observations
    assert figures[0].high - figures[0].low > 0.4


def test_a_difference_in_wording_is_said_in_the_headline() -> None:
    methods = {"short": make_scores(0.6, 1), "wordy": make_scores(0.3, 1)}
    for scores in methods.values():
        scores.values["contains"] = methods["short"].values["em"]
    recommendation, _ = make_recommendation(**methods)
    assert recommendation.by_wording == ("wordy",)
    assert recommendation.sentences[0].startswith("short is best: exact match ")
    assert recommendation.sentences[0].endswith(
        " This is about the wording of the answers, not their quality: if an answer need only contain an accepted one, "
        "wordy may be the best as well."
    )
    methods["wordy"].values["contains"] = methods["wordy"].values["em"]
    assert make_recommendation(**methods)[0].by_wording == ()


def test_the_nearest_of_many_methods_that_may_be_the_best_are_named() -> None:
    shares = {f"m{number:02}": make_scores(0.5 + number / 400, 1, count=60) for number in range(12)}
    recommendation, figures = make_recommendation(**shares)
    assert len(recommendation.equal_methods) == 11
    words = recommendation.sentences[1].partition("do not rule out")[2]
    method_names = re.findall(r"m\d\d", words)
    quality = {figure.name: figure.quality for figure in figures}
    assert len(method_names) == 4
    assert min(quality[name] for name in method_names) >= max(
        quality[name] for name in recommendation.equal_methods if name not in method_names
    )
    assert words.endswith(" and 7 more (see the table).")


def test_a_few_equal_methods_are_all_listed() -> None:
    assert join_and_shorten_names(list("abcde")) == "a, b, c, d and e"
    assert join_and_shorten_names(list("abcdef")) == "a, b, c, d and 2 more (see the table)"


def test_of_two_equal_methods_the_cheaper_one_is_best() -> None:
    recommendation, _ = make_recommendation(costly=make_scores(0.5, 1, calls=5), cheap=make_scores(0.5, 1))
    assert (recommendation.best, recommendation.equal_methods) == ("cheap", ["costly"])
    assert recommendation.sentences[1].startswith("cheap also has the highest mean; ")
    assert "costly (no difference)" in recommendation.sentences[1]
    assert (
        "2 of these have the same mean so far, so that no number of questions can be named. "
        in (recommendation.sentences[0])
    )
    methods = {"costly": make_scores(0.5, 1, calls=5), "cheap": make_scores(0.5, 1), "third": make_scores(0.49, 1)}
    recommendation, _ = make_recommendation(**methods)
    assert recommendation.choice is not None
    needed = recommendation.choice.questions_needed["third"]
    assert (
        f"can be named that would settle it (about {needed:,} would rule out the others). "
        in (recommendation.sentences[0])
    )


def test_a_budget_limits_the_recommendation_and_says_what_is_beyond_it() -> None:
    methods = {
        "good": make_scores(0.7, 1, calls=5),
        "poor": make_scores(0.3, 2),
        "middle": make_scores(0.4, 5, calls=2),
    }
    recommendation, _ = make_recommendation({"calls": 2}, **methods)
    assert recommendation.best == "middle"
    assert "middle is best within 2 calls a question" in recommendation.sentences[0]
    assert any(sentence.startswith("Without the limit good would be ahead: 7") for sentence in recommendation.sentences)
    recommendation, _ = make_recommendation({"calls": 1, "tokens": 101}, **methods)
    assert recommendation.best == "poor"
    assert "No other method keeps within the limit." in recommendation.sentences
    unmet_recommendation, _ = make_recommendation({"seconds": 0.1}, **methods)
    assert unmet_recommendation.best is None
    assert unmet_recommendation.sentences[0] == "No method keeps within 0.1 seconds (95th percentile) a question."
    assert "Without the limit good has the highest mean" in unmet_recommendation.sentences[-1]
    assert unmet_recommendation.sentences[-1].endswith("2.50 s (p95) a question.")


def test_a_method_that_a_race_dropped_is_not_beyond_a_limit() -> None:
    """The mean of a dropped method is over the few questions that it was asked, and may be higher than the best one's.
    Therefore the recommendation does not say that the method would be ahead without a limit.
    """
    scores = {"winner": make_scores(0.6, 1), "dropped": make_scores(1.0, 2, count=20)}
    figures = [
        compute_figures(name, method_scores, "em", None, set(method_scores.ids))
        for name, method_scores in scores.items()
    ]
    units = tuple((f"q{number}",) for number in range(400))  # each question is a group of its own
    standings = {
        "winner": Standing("winner", asked_count=400, mean=0.6, low=0.5, high=0.7, dropped=False),
        "dropped": Standing("dropped", asked_count=20, mean=1.0, low=0.5, high=1.0, dropped=True),
    }
    race = RaceResult(
        "questions", error=0.05, seed=0, measure="em", units=units, settled_count=400, standings=standings
    )
    recommendation = recommend_method(figures, scores, "em", {}, race)
    assert recommendation.sentences[0].startswith("winner won the race")
    assert not any("Without the limit" in sentence for sentence in recommendation.sentences)


def test_a_limit_on_cost_needs_prices() -> None:
    recommendation, _ = make_recommendation({"cost": 1.0}, some=make_scores(0.5, 1))
    assert recommendation.best is None
    assert "give the model's price with --prices FILE" in recommendation.sentences[1]


def test_failed_answers_are_reported_and_left_out_for_all_methods() -> None:
    recommendation, figures = make_recommendation(
        failing=make_scores(0.5, 1, failed_count=100), sound=make_scores(0.5, 1)
    )
    assert [(figure.n, figure.errors) for figure in figures] == [(300, 100), (300, 0)]
    assert figures[0].quality == figures[1].quality
    assert recommendation.sentences[-1].startswith(
        "Answers that failed count neither as right nor as wrong: 100 of failing;"
    )


def test_without_any_answer_no_method_is_recommended() -> None:
    recommendation, _ = make_recommendation(failing=make_scores(0.5, 1, count=5, failed_count=5))
    assert (recommendation.best, recommendation.sentences[0]) == (None, "No method answered any question.")


def test_a_single_method_is_the_best() -> None:
    recommendation, _ = make_recommendation(only=make_scores(0.5, 1))
    assert (recommendation.best, len(recommendation.sentences)) == ("only", 1)
    assert recommendation.sentences[0].startswith("only is the only method: exact match ")


@pytest.mark.parametrize(
    ("text", "budget"),
    [(None, {}), ("calls=3", {"calls": 3}), (" tokens=2000 , cost=0.01,", {"tokens": 2000, "cost": 0.01})],
)
def test_a_budget_is_read(text: str | None, budget: dict[str, float]) -> None:
    assert read_budget(text) == budget


@pytest.mark.parametrize("text", ["calls", "calls=", "calls=-1", "calls=nan", "money=3", "seconds=inf", "=2"])
def test_an_unreadable_budget_is_refused(text: str) -> None:
    with pytest.raises(SetupError, match="cannot be read; write calls=3"):
        read_budget(text)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=1, max_size=8))
def test_the_pareto_front_is_not_dominated(pairs: list[tuple[int, int]]) -> None:
    figures = [
        MethodFigures(
            str(number), n=1, errors=0, quality=quality / 5, low=0, high=0, calls=1, tokens=tokens, cost=None, seconds=1
        )
        for number, (tokens, quality) in enumerate(pairs)
    ]
    front = find_pareto_front(figures, "tokens")

    def is_dominated(figure: MethodFigures) -> bool:
        return any(
            rival.tokens <= figure.tokens
            and rival.quality >= figure.quality
            and (rival.tokens, rival.quality) != (figure.tokens, figure.quality)
            for rival in figures
        )

    undominated_pairs = {(figure.tokens, figure.quality) for figure in figures if not is_dominated(figure)}
    assert {(figure.tokens, figure.quality) for figure in figures if figure.name in front} == undominated_pairs
    assert len(front) == len(undominated_pairs)


def test_dollars_and_lists_are_written_in_words() -> None:
    assert [format_dollars(value) for value in (0, 1.234, 0.000412, 0.05, 1234.5)] == [
        "$0",
        "$1.23",
        "$0.000412",
        "$0.0500",
        "$1,234.50",
    ]
    assert [join_names(parts) for parts in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
