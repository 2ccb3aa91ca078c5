"""Scorers of the passages that were read: gold passages among them, their order, length and precision."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.state import Passage, Result
from quorum.evaluation.metrics.answers import Reference
from quorum.evaluation.metrics.passages import (
    answer_in_passages,
    answer_on_top,
    context_precision,
    context_tokens,
    hit,
    hit_at_1,
    precision,
    precision_before_filter,
    recall,
    recall_before_filter,
    reciprocal_rank,
    s_precision,
    s_precision_before_filter,
    supported,
)


def make_result(ids: str, before: str | None = None, text: str = "") -> Result:
    """A result whose ids are single letters.

    ids: the ids of the final passages. before: the ids of the passages before the filter; None if there was no filter.
    text: the text of every final passage.
    """
    result = Result(answer="x", unknown=False, passages=[Passage(id=id_, title="", text=text) for id_ in ids])
    result["retrieved"] = None if before is None else list(before)
    return result


def make_reference(gold: str = "", *answers: str) -> Reference:
    return Reference(answers=list(answers), gold=list(gold))


@pytest.mark.parametrize(
    # expected: recall, precision, S-precision. S-precision is 1 if the final passages are exactly the gold passages.
    ("final", "gold", "expected"),
    [
        ("ab", "ab", (1, 1, 1)),
        ("ba", "ab", (1, 1, 1)),
        ("abcd", "ab", (1, 0.5, 0)),
        ("a", "ab", (0.5, 1, 0)),
        ("cd", "ab", (0, 0, 0)),
        ("", "ab", (0, 0, 0)),
        ("ab", "", (None, None, None)),
    ],
)
def test_recall_and_precision_compare_the_final_passages_with_the_gold_passages(
    final: str, gold: str, expected: tuple[float | None, float | None, float | None]
) -> None:
    arguments = make_result(final), make_reference(gold)
    assert (recall(*arguments), precision(*arguments), s_precision(*arguments)) == expected


def test_measures_before_the_filter_use_all_retrieved_passages() -> None:
    arguments = make_result("a", before="abcd"), make_reference("ab")
    assert (
        recall_before_filter(*arguments),
        precision_before_filter(*arguments),
        s_precision_before_filter(*arguments),
    ) == (1, 0.5, 0)
    unfiltered_arguments = make_result("ab"), make_reference("ab")
    assert (
        recall_before_filter(*unfiltered_arguments),
        precision_before_filter(*unfiltered_arguments),
        s_precision_before_filter(*unfiltered_arguments),
    ) == (None,) * 3


@pytest.mark.parametrize(
    ("final", "first", "reciprocal"), [("abc", 1, 1), ("cab", 0, 1 / 2), ("cdb", 0, 1 / 3), ("cd", 0, 0), ("", 0, 0)]
)
def test_hits_and_reciprocal_rank_use_the_first_gold_passage(final: str, first: float, reciprocal: float) -> None:
    assert hit_at_1(make_result(final), make_reference("ab")) == first
    assert hit(make_result(final), make_reference("ab")) == (reciprocal > 0)
    assert reciprocal_rank(make_result(final), make_reference("ab")) == pytest.approx(reciprocal)
    assert reciprocal_rank(make_result(final), make_reference("")) is None


def make_result_with_texts(*texts: str) -> Result:
    return Result(
        answer="x",
        unknown=False,
        passages=[Passage(id=str(index), title="T", text=text) for index, text in enumerate(texts)],
    )


def test_the_answer_is_searched_for_in_all_passages_or_only_in_the_first() -> None:
    result = make_result_with_texts("It must be here.", "Paris, in the US.")
    assert answer_in_passages(result, make_reference("", "US")) is True
    assert answer_on_top(result, make_reference("", "US")) is False
    assert answer_on_top(result, make_reference("", "US", "here")) is True
    assert answer_in_passages(result, make_reference()) is None
    assert answer_on_top(make_result_with_texts(), make_reference("", "US")) is False


def test_a_token_is_counted_for_every_three_bytes_of_title_and_text() -> None:
    # Title and text are joined by a newline: "T\n1234567" has 9 bytes, and "T\nü" has 4.
    assert context_tokens(make_result_with_texts("1234567")) == 3
    assert context_tokens(make_result_with_texts("1234567", "ü")) == 3 + 2
    assert context_tokens(make_result_with_texts()) == 0


def test_the_precision_of_the_context_counts_a_word_at_most_as_often_as_the_answer_has_it() -> None:
    assert (
        context_precision(make_result_with_texts("Paris Paris", "the big city"), make_reference("", "in Paris"))
        == 1 / 4
    )
    precision_without_article = context_precision(make_result_with_texts("a b", "c d"), make_reference("", "z", "c d"))
    assert precision_without_article == pytest.approx(2 / 3)  # normalisation drops the article "a"
    assert context_precision(make_result_with_texts(), make_reference("", "Paris")) is None


def test_an_empty_context_has_precision_zero_where_a_filter_emptied_it() -> None:
    emptied_context = make_result_with_texts()
    emptied_context["retrieved"] = ["0"]
    assert context_precision(emptied_context, make_reference("", "Paris")) == 0


@pytest.mark.parametrize("task", ["label", "yes_no", "dialogue", "long"])
def test_a_gold_passage_supports_the_answer_of_a_task_without_spans(task: Any) -> None:
    """The answers of these tasks are not spans of a passage. So a gold passage supports the answer, and a passage that
    merely contains the answer's text does not.
    """
    result, reference = (
        make_result_with_texts("SUPPORTS yes", "b"),
        Reference(answers=["SUPPORTS"], gold=["1"], task=task),
    )
    assert (answer_on_top(result, reference), supported(result, reference)) == (False, True)
    assert supported(result, Reference(answers=["SUPPORTS"], gold=[], task=task)) is None


def test_a_gold_article_counts_once_whichever_of_its_paragraphs_is_read() -> None:
    reference = Reference(answers=["x"], gold=["12:4"], articles=[["12", "Basel"], ["7", "Rhine"]])
    # A passage belongs to a gold article by the beginning of its id (ARTICLE:PARAGRAPH) or by its title. So these four
    # passages count as three: article 12, article 7 (by its title Rhine), and passage 8:1, which is not gold.
    ids_and_titles = [("12:1", "?"), ("12:2", "?"), ("90", "Rhine"), ("8:1", "Thames")]
    result = make_result("")
    result["passages"] = [Passage(id=id_, title=title, text="") for id_, title in ids_and_titles]
    assert (recall(result, reference), precision(result, reference), s_precision(result, reference)) == (1, 2 / 3, 0)
    assert (hit_at_1(result, reference), reciprocal_rank(result, reference)) == (1, 1)
    # Both measures below use the retrieved ids, which hold one of the two gold articles: 7, at rank 2.
    result["retrieved"] = ["8:1", "7:9"]
    assert (recall_before_filter(result, reference), reciprocal_rank(result, reference)) == (0.5, 0.5)


IDS = st.text("abcdef", max_size=6)


@given(final=IDS, before=IDS, gold=IDS)
def test_relations_between_measures_hold_for_any_passages(final: str, before: str, gold: str) -> None:
    arguments = make_result(final, before), make_reference(gold)
    values = [
        scorer(*arguments) for scorer in (recall, precision, s_precision, recall_before_filter, precision_before_filter)
    ]
    assert all((value is None) == (not gold) and 0 <= (value or 0) <= 1 for value in values)
    if gold and s_precision(*arguments):
        assert recall(*arguments) == precision(*arguments) == 1
    if gold:
        assert (hit_at_1(*arguments) or 0) <= (reciprocal_rank(*arguments) or 0)
