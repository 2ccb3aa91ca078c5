"""The headline and the three sentences below it, for each kind of decision."""

import unicodedata
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorum.evaluation.compare.figures import compute_figures, find_shared_questions
from quorum.evaluation.compare.recommend import recommend_method
from quorum.evaluation.compare.recommendation import Recommendation
from quorum.evaluation.compare.verdict import MOST_WORDS
from quorum.evaluation.compare.wrong_cost import ALWAYS_UNKNOWN
from quorum.evaluation.run.column_scores import ColumnScores, Row


def make_exact_scores(
    right: int, wrong: int, *, calls: float = 1, failed: int = 0, reused_calls: int = 0
) -> ColumnScores:
    """Scores of `right` right answers, then `wrong` wrong ones, then `failed` failed questions."""
    scores = ColumnScores()
    for number in range(right + wrong + failed):
        em = float(number < right)
        error = None if number < right + wrong else "no reply"
        row: Any = Row(id=f"q{number}", method="x", em=em, f1=em, malformed=0, seconds=0.5 * calls, error=error)
        row |= {"calls": calls, "input_tokens": 100 * calls, "output_tokens": calls, "unknown": False}
        scores.add(row | {"reused_calls": reused_calls})
    return scores


def make_recommendation(budget: dict[str, float], methods: Mapping[str, ColumnScores]) -> Recommendation:
    """The recommendation among methods whose models have no price."""
    shared_ids = find_shared_questions(methods)
    figures = [compute_figures(name, scores, "em", None, shared_ids) for name, scores in methods.items()]
    return recommend_method(figures, methods, "em", budget)


GOOD, POOR = make_exact_scores(70, 30, calls=5), make_exact_scores(20, 80)


@pytest.mark.parametrize(
    ("methods", "budget", "headline"),
    [
        ({"sure": GOOD, "poor": POOR}, {}, "sure is best. It scored 50 points above the next, poor."),
        ({"sure[k=3]": GOOD, "poor": POOR}, {}, "sure k=3 is best. It scored 50 points above the next, poor."),
        ({"sure": GOOD}, {}, "sure is the only method, so nothing was compared."),
        ({"sure": GOOD, "poor": POOR}, {"calls": 1}, "poor is the only method within the limit."),
        ({"sure": GOOD}, {"calls": 1}, "No method keeps within the limit. sure scored highest without it."),
        ({"sure": make_exact_scores(0, 0, failed=5)}, {}, "No method answered any question."),
        (
            {"a": make_exact_scores(11, 9, calls=5), "b": make_exact_scores(10, 10)},
            {},
            "No clear winner yet. b is cheapest; a scored 5 points higher.",
        ),
        (
            {"a": make_exact_scores(11, 9), "b": make_exact_scores(10, 10, calls=5)},
            {},
            "No clear winner yet. a scored highest and is cheapest.",
        ),
        (
            {name: make_exact_scores(10, 10, calls=calls) for calls, name in enumerate("dabc", start=1)},
            {},
            "Four methods scored the same; d is the cheapest of them.",
        ),
        (
            {
                "a": make_exact_scores(19, 1, calls=5),
                "b": make_exact_scores(18, 2, calls=2),
                "c": make_exact_scores(1, 19),
            },
            {},
            "No clear winner yet. Of 2 leaders, b is cheapest; a scored 5 points higher.",
        ),
    ],
)
def test_each_kind_of_decision_has_its_headline(
    methods: dict[str, ColumnScores], budget: dict[str, float], headline: str
) -> None:
    assert make_recommendation(budget, methods).verdict.headline == headline


def test_three_sentences_say_what_to_use_what_it_costs_and_what_would_settle_it() -> None:
    methods = {
        "costly": make_exact_scores(11, 9, calls=5),
        "cheap": make_exact_scores(10, 10, calls=2),
        "poor": make_exact_scores(1, 19),  # the cheapest, but not among the best
    }
    recommendation = make_recommendation({}, methods)
    assert recommendation.choice is not None
    more = (recommendation.choice.questions_to_settle or 0) - 20
    assert recommendation.verdict.use.startswith("Use costly for now, exact match 55.0%, between ")
    assert recommendation.verdict.use.endswith("it scored highest, and no cheaper one is within 2 points of it.")
    assert recommendation.verdict.cost == (
        "A question takes 5.0 calls and 505 tokens, and half of the answers come within 2.50 s, 95% within 2.50 s; "
        "that is 2.5 times the tokens of cheap, the cheapest of the leaders."
    )
    reused = make_recommendation({}, methods | {"costly": make_exact_scores(11, 9, calls=5, reused_calls=1)})
    assert (
        ", and 95% of the answers come within 2.50 s; that is" in reused.verdict.cost
    )  # no median: none was timed now
    assert recommendation.verdict.rest == (
        f"About {more:,} more questions would settle it, if the differences stay as they are."
    )


@settings(max_examples=settings.default.max_examples // 3)  # each makes nine recommendations
@given(names=st.lists(st.text("ab[](){}<>⟨】,=: _k1", min_size=1, max_size=40), min_size=2, max_size=2, unique=True))
def test_a_headline_has_few_words_and_no_brackets_whatever_the_names(names: list[str]) -> None:
    for methods in (
        {names[0]: GOOD, names[1]: POOR},
        {names[0]: make_exact_scores(11, 9, calls=5), names[1]: make_exact_scores(10, 10)},
        {names[0]: make_exact_scores(10, 10), ALWAYS_UNKNOWN[:9] + names[1]: make_exact_scores(10, 10, calls=5)},
    ):
        for budget in ({}, {"calls": 9.0}, {"calls": 0.1}):
            headline = make_recommendation(budget, methods).verdict.headline
            assert len(headline.split()) <= MOST_WORDS
            assert not any(unicodedata.category(sign) in ("Ps", "Pe") or sign in "<>" for sign in headline)
