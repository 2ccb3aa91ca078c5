"""The scorers (metrics) of answers: pure functions of a result and the gold answers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.state import Passage, Result, Vote
from quorum.evaluation.metrics import registry
from quorum.evaluation.metrics.answers import (
    Reference,
    accuracy,
    contains,
    oracle,
    overlap_other_summaries,
    overlap_own_summary,
    rouge_l,
    str_em,
)
from quorum.evaluation.metrics.exact_match_gap import describe_exact_match_gap
from quorum.evaluation.metrics.registry import METRICS


def score(result: Result, answers: list[str], **reference: Any) -> dict[str, Any]:
    return registry.score_result(result, Reference(answers=answers, **reference))


def make_result(answer: str, unknown: bool = False, votes: list[str] | None = None) -> Result:
    """A result with an answer and the answers that were voted on, if any; "?" among the votes stands for unknown."""
    result = Result(answer=answer, unknown=unknown)
    if votes is not None:
        result["votes"] = [
            Vote(rank=rank, passage=f"p{rank}", answer=vote, unknown=vote == "?") for rank, vote in enumerate(votes)
        ]
    return result


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
    scores = score(make_result(answer), golds)
    assert scores["em"] == em
    assert scores["f1"] == pytest.approx(f1)


def test_unknown_is_right_where_the_data_have_no_answer() -> None:
    scores = score(make_result("unknown", unknown=True), [])
    assert (scores["em"], scores["f1"], scores["unknown"]) == (1, 1, True)


def test_an_answer_is_wrong_where_the_data_have_none() -> None:
    scores = score(make_result("1889"), [])
    assert (scores["em"], scores["f1"], scores["unknown"]) == (0, 0, False)


@pytest.mark.parametrize("task", ["yes_no", "label"])
def test_accuracy_counts_unknown_as_right_where_the_data_have_no_answer(task: str) -> None:
    assert score(make_result("unknown", unknown=True), [], task=task)["accuracy"] == 1
    assert score(make_result("yes"), [], task=task)["accuracy"] == 0


def test_a_refusal_that_shares_a_word_with_a_gold_answer_scores_zero() -> None:
    refusal = make_result("The context does not mention the tower", unknown=True)
    assert score(refusal, ["tower"])["f1"] == 0


@pytest.mark.parametrize(
    ("answer", "votes", "among_votes", "outvoted"),
    [
        ("Rome", ["Rome", "Paris", "Rome"], True, True),  # the right answer had a vote, and lost
        ("Paris", ["Paris", "the paris", "Rome"], True, False),
        ("Rome", ["Rome", "?"], False, False),
        ("unknown", ["?", "?"], False, False),
        ("Rome", [], False, False),  # no vote was needed
    ],
)
def test_right_answers_among_the_votes_and_outvoted_ones_are_counted(
    answer: str, votes: list[str], among_votes: bool, outvoted: bool
) -> None:
    scores = score(make_result(answer, unknown=answer == "unknown", votes=votes), ["Paris"])
    assert (scores["right_answer_among_votes"], scores["right_answer_outvoted"]) == (among_votes, outvoted)


def test_without_votes_no_right_answer_is_outvoted() -> None:
    scores = score(make_result("Paris"), ["Paris"])
    assert scores["right_answer_among_votes"] is None
    assert scores["right_answer_outvoted"] is None


def test_a_scorer_called_alone_gives_the_value_that_score_result_gives() -> None:
    result = make_result("Paris", votes=["Paris"])
    for name, value in score(result, ["Paris"]).items():
        assert METRICS[name].score(result, Reference(answers=["Paris"])) == value


@pytest.mark.parametrize(
    ("task", "answer", "gold", "expected"),
    [
        ("yes_no", "Yes.", "yes", 1),
        ("yes_no", "Yes, it was.", "yes", 1),
        ("yes_no", "No", "yes", 0),
        ("yes_no", "Not in the least", "no", 0),
        ("yes_no", "", "yes", 0),
        ("yes_no", "the", "no", 0),
        ("label", "SUPPORTS", "SUPPORTS", 1),
        ("label", "Not enough info.", "NOT ENOUGH INFO", 1),
        ("label", "REFUTES", "SUPPORTS", 0),
        ("short", "Yes", "yes", None),
        ("long", "Yes", "yes", None),
    ],
)
def test_accuracy_is_measured_only_for_yes_or_no_and_labels(
    task: str, answer: str, gold: str, expected: float | None
) -> None:
    assert accuracy(make_result(answer), Reference(answers=[gold], task=task)) == expected


def test_the_label_for_too_little_information_is_an_answer() -> None:
    scores = score(make_result("NOT ENOUGH INFO", unknown=False), ["NOT ENOUGH INFO"], task="label")
    assert (scores["em"], scores["accuracy"], scores["unknown"]) == (1, 1, False)


@pytest.mark.parametrize(
    ("candidates", "votes", "expected"),
    [
        (["Rome", "Paris"], None, True),
        (["Rome"], ["Paris"], False),  # with candidates, the votes do not count
        (None, ["Rome", "Paris"], True),
        (None, None, None),
    ],
)
def test_the_oracle_is_right_if_any_candidate_or_vote_is(
    candidates: list[str] | None, votes: list[str] | None, expected: bool | None
) -> None:
    result = make_result("Rome", votes=votes)
    result["candidates"] = candidates
    assert oracle(result, Reference(answers=["Paris"])) is expected


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),  # the expected values are those of rouge_score 0.1.2 (rougeL, no stemmer)
    [
        ("The first expedition was Amundsen's, in 1911.",
         "It was Roald Amundsen who led the first expedition in December 1911.", 0.5),
        ("a b c d e f", "a c e f g", 0.727273),
        ("police killed the gunman", "police kill the gunman", 0.75),
        ("the gunman kill police", "police killed the gunman", 0.5),
        ("", "x", 0),
        ("Café Müller 12-34", "cafe muller 12 34", 0.444444),
        ("one two three four five six seven", "seven six five four three two one", 0.142857),
    ],
)  # fmt: skip
def test_rouge_l_equals_that_of_the_rouge_score_package(answer: str, gold: str, expected: float) -> None:
    reference = Reference(answers=["other words", gold], task="long", answer_measure="squad_exact_match")
    value = rouge_l(make_result(answer), reference)
    assert value == pytest.approx(expected, abs=1e-6)
    assert rouge_l(make_result(answer), Reference(answers=[gold], task="short")) is None


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("Café Müller 12–34", "cafe muller 12-34", 1.0),
        ("police killed the gunman", "police kill the gunman", 0.75),
        ("北京市海淀", "北京市海淀区", 10 / 11),
        ("北京。", "上海", 0),
    ],
)
def test_rouge_l_of_own_data_ignores_typography_and_reads_all_scripts(answer: str, gold: str, expected: float) -> None:
    assert rouge_l(make_result(answer), Reference(answers=[gold], task="long")) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "gold", "own", "published"),
    [
        ("Sean O’Brien", "Sean O'Brien", 1, 0),
        ("35", "3.5", 0, 1),
        ("The Tower!", "tower", 1, 1),
        ("北京。", "北京", 1, 0),
    ],
)
def test_measures_follow_the_reference_and_the_published_one_stays(
    answer: str, gold: str, own: float, published: float
) -> None:
    passage = Passage(id="p", title="", text=f"It says: {answer}")
    result = Result(**{**make_result(answer), "passages": [passage]})  # type: ignore[typeddict-item]
    for measure, expected in (("exact_match", own), ("squad_exact_match", published)):
        scores = score(result, [gold], answer_measure=measure)
        names = ("em", "contains", "answer_in_passages", "supported")
        assert [scores[name] for name in names] == [expected] * len(names)
        assert scores["squad_exact_match"] == published
    assert score(result, [gold])["em"] == own


def test_str_em_is_the_share_of_answer_groups_found_in_the_text() -> None:
    groups = [["14 December 1911", "December 14, 1911"], ["Scott"], ["US"]]
    answer = make_result("Amundsen was there on December 14, 1911; Scott must have known.")
    assert str_em(answer, Reference(answers=[], groups=groups)) == pytest.approx(2 / 3)
    assert str_em(answer, Reference(answers=[])) is None


def test_a_summary_overlaps_with_its_own_candidate() -> None:
    result = make_result("Paris")
    result["candidates"] = ["Paris", "Rome"]
    result["summaries"] = ["The tower stands in Paris.", "The forum is in Rome."]
    reference = Reference(answers=["Paris"])
    assert (overlap_own_summary(result, reference) or 0) > 0.3
    assert overlap_other_summaries(result, reference) == 0
    result["summaries"] = None
    assert overlap_own_summary(result, reference) is None


def test_overlap_with_other_summaries_is_none_for_a_single_candidate() -> None:
    result = make_result("Paris")
    result["candidates"], result["summaries"] = ["Paris"], ["It stands in Paris."]
    assert overlap_other_summaries(result) is None
    assert (overlap_own_summary(result) or 0) > 0


WORDS = st.text(alphabet="abc the.", max_size=12)


@given(
    answer=WORDS,
    golds=st.lists(WORDS, min_size=1, max_size=3),
    votes=st.lists(WORDS, max_size=4),
    unknown=st.booleans(),
)
def test_relations_between_measures_hold_for_any_texts(
    answer: str, golds: list[str], votes: list[str], unknown: bool
) -> None:
    scores = score(make_result(answer, unknown, votes), golds)
    assert 0 <= scores["em"] <= scores["f1"] <= 1
    if scores["right_answer_outvoted"]:
        assert scores["right_answer_among_votes"]
        assert scores["em"] == 0


@pytest.mark.parametrize(
    ("answer", "golds", "expected"),
    [
        ("It was built by Ada Korn in 1874.", ["Ada Korn"], 1.0),
        ("You must go.", ["US"], 0.0),
        ("The U.S. did.", ["US"], 1.0),
        ("The", ["the"], 1.0),  # both normalise to an empty text, which is an exact match
        ("Someone", [], 0.0),
    ],
)
def test_contains_finds_a_gold_answer_at_word_boundaries(answer: str, golds: list[str], expected: float) -> None:
    result: Any = {"answer": answer, "unknown": False}
    assert contains(result, Reference(answers=golds)) == expected
    for task in ("yes_no", "label", "long", "dialogue"):
        assert contains(result, Reference(answers=golds, task=task)) is None


def test_unknown_contains_no_gold_answer_but_is_right_if_the_data_have_none() -> None:
    result: Any = {"answer": "unknown", "unknown": True}
    assert (contains(result, Reference(answers=["who"])), contains(result, Reference(answers=[]))) == (0.0, 1.0)


def test_methods_whose_answers_contain_gold_answers_but_do_not_equal_them_are_reported() -> None:
    summary = {
        "concat": {"em": 0.05, "contains": 0.4},
        "sure": {"em": 0.3, "contains": 0.4},  # a gap of 10 points is not yet reported
        "cot": {"em": None},
    }
    message = describe_exact_match_gap(summary, is_judged=False, without_shortening={"concat"}) or ""
    assert message.startswith("concat: 40.0% of the answers contain a gold answer, 5.0% equal one. ")
    assert "--set shorten=auto" in message
    assert "--judge" in message
    assert "sure" not in message
    assert describe_exact_match_gap({"concat": {"em": 0.3, "contains": 0.4}}, is_judged=False) is None


def test_advice_about_wording_names_only_what_was_not_on_already() -> None:
    summary = {"concat": {"em": 0.05, "contains": 0.4}}
    with_judge = describe_exact_match_gap(summary, is_judged=True, without_shortening={"concat"}) or ""
    assert with_judge.endswith(
        "counts as wrong: run it with --set shorten=auto, which asks once more for a short answer."
    )
    with_shortening = describe_exact_match_gap(summary, is_judged=False, without_shortening={"sure"}) or ""
    assert with_shortening.endswith("counts as wrong: let a model judge them with --judge MODEL.")
    with_both = describe_exact_match_gap(summary, is_judged=True) or ""
    assert with_both.endswith("The model answers in sentences, which exact match counts as wrong.")
