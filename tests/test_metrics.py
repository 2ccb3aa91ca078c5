"""The scorers: pure functions of a result and the gold answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.state import Result, Vote
from evaluation import metrics
from evaluation.metrics import Reference, score


def result(answer: str, unknown: bool = False, votes: list[str] | None = None) -> Result:
    """A result; the vote "?" is an unknown one."""
    made = Result(answer=answer, unknown=unknown)
    if votes is not None:
        made["votes"] = [
            Vote(rank=rank, passage=f"p{rank}", answer=vote, unknown=vote == "?") for rank, vote in enumerate(votes)
        ]
    return made


@pytest.mark.parametrize(
    ("answer", "golds", "em", "f1"),
    [
        ("The Eiffel Tower.", ["eiffel tower"], 1, 1),
        ("Eiffel", ["Eiffel Tower"], 0, 2 / 3),
        ("Gustave", ["Eiffel Tower", "Gustave Eiffel"], 0, 2 / 3),
        ("1889", ["1887"], 0, 0),
    ],
)
def test_exact_match_and_f1_take_the_best_gold_answer(answer: str, golds: list[str], em: float, f1: float) -> None:
    scores = score(result(answer), golds)
    assert scores["em"] == em
    assert scores["f1"] == pytest.approx(f1)


def test_unknown_is_right_where_the_data_have_no_answer() -> None:
    scores = score(result("unknown", unknown=True), [])
    assert (scores["em"], scores["f1"], scores["unknown"]) == (1, 1, True)


def test_an_answer_is_wrong_where_the_data_have_none() -> None:
    scores = score(result("1889"), [])
    assert (scores["em"], scores["f1"], scores["unknown"]) == (0, 0, False)


def test_the_words_of_a_refusal_earn_nothing() -> None:
    refusal = result("The context does not mention the tower", unknown=True)
    assert score(refusal, ["tower"])["f1"] == 0


@pytest.mark.parametrize(
    ("answer", "votes", "in_pool", "lost"),
    [
        ("Rome", ["Rome", "Paris", "Rome"], True, True),  # the right answer was there and lost
        ("Paris", ["Paris", "the paris", "Rome"], True, False),
        ("Rome", ["Rome", "?"], False, False),
        ("unknown", ["?", "?"], False, False),
        ("Rome", [], False, False),  # no vote was needed
    ],
)
def test_what_is_counted_over_the_pool(answer: str, votes: list[str], in_pool: bool, lost: bool) -> None:
    scores = score(result(answer, unknown=answer == "unknown", votes=votes), ["Paris"])
    assert (scores["gold_in_pool"], scores["not_majority"]) == (in_pool, lost)


def test_without_votes_there_is_no_pool() -> None:
    scores = score(result("Paris"), ["Paris"])
    assert scores["gold_in_pool"] is None
    assert scores["not_majority"] is None


def test_the_scorers_are_named_after_what_they_measure() -> None:
    reference = Reference(answers=["Paris"])
    for name, value in score(result("Paris", votes=["Paris"]), ["Paris"]).items():
        assert getattr(metrics, name)(result("Paris", votes=["Paris"]), reference) == value


WORDS = st.text(alphabet="abc the.", max_size=12)


@given(
    answer=WORDS,
    golds=st.lists(WORDS, min_size=1, max_size=3),
    votes=st.lists(WORDS, max_size=4),
    unknown=st.booleans(),
)
def test_measures_agree_with_one_another(answer: str, golds: list[str], votes: list[str], unknown: bool) -> None:
    scores = score(result(answer, unknown, votes), golds)
    assert 0 <= scores["em"] <= scores["f1"] <= 1
    if scores["not_majority"]:
        assert scores["gold_in_pool"]
        assert scores["em"] == 0
