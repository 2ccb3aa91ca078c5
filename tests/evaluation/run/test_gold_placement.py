"""Which retrieved passages are gold, and the ranks at which they are put.

In these tests, the passages whose ids begin with g contain an accepted answer.
"""

from typing import Any

import pytest
from gold_passages import make_passages_with_answer_in_g
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.datasets.records import Record
from quorum.evaluation.run.gold_placement import find_gold_rank, list_gold_with_texts, place_gold, select_gold


def make_record(given_passages: list[Passage], gold: tuple[str, ...] = (), **fields: Any) -> Record:
    record: Any = {
        "id": "q",
        "question": "Which town?",
        "answers": ["Basel"],
        "passages": given_passages,
        "gold": list(gold),
        **fields,
    }
    return record


def list_ids(passages: list[Passage]) -> list[str]:
    return [passage["id"] for passage in passages]


def test_gold_passages_are_listed_or_contain_an_answer() -> None:
    retrieved_passages = make_passages_with_answer_in_g("a", "g", "b", "g2")
    assert list_ids(select_gold(retrieved_passages, make_record([], ("b",)), "short")) == ["b"]
    assert list_ids(select_gold(retrieved_passages, make_record([]), "short")) == ["g", "g2"]
    assert select_gold(retrieved_passages, make_record([]), "yes_no") == []
    assert select_gold(retrieved_passages, make_record([], ("not_retrieved",)), "short") == []
    # A gold passage may also be one that the question does not bring, but that `add_gold` added to the record.
    assert list_ids(
        list_gold_with_texts(
            make_record(retrieved_passages[:1], ("x",), gold_passages=make_passages_with_answer_in_g("x")), "short"
        )
    ) == ["x"]
    assert (
        find_gold_rank(retrieved_passages, make_record([]), "short"),
        find_gold_rank(retrieved_passages[:1], make_record([]), "short"),
    ) == (
        2,
        None,
    )


@pytest.mark.parametrize(
    ("placement", "ids_if_gold_was_fourth", "ids_if_gold_was_second"),
    [
        ("retrieved", ["a", "b", "g"], ["a", "g", "b"]),
        ("top", ["g", "a", "b"], ["g", "a", "b"]),
        ("bottom", ["a", "b", "g"], ["a", "b", "g"]),
    ],
)
def test_gold_passages_are_put_at_the_chosen_rank(
    placement: str, ids_if_gold_was_fourth: list[str], ids_if_gold_was_second: list[str]
) -> None:
    """A gold passage that was not retrieved replaces the passage at rank k."""
    context = Context(k=3)
    gold_at_4 = make_passages_with_answer_in_g("a", "b", "c", "g")
    gold_at_2 = make_passages_with_answer_in_g("a", "g", "b", "c")
    assert (
        list_ids(place_gold(gold_at_4[:3], make_record(gold_at_4, ("g",)), "short", context, placement))
        == ids_if_gold_was_fourth
    )
    assert (
        list_ids(place_gold(gold_at_2[:3], make_record(gold_at_2, ("g",)), "short", context, placement))
        == ids_if_gold_was_second
    )


def test_all_gold_passages_that_were_found_move_together() -> None:
    retrieved_passages, record = make_passages_with_answer_in_g("a", "g", "b", "g2"), make_record([], ("g", "g2"))
    assert list_ids(place_gold(retrieved_passages, record, "short", Context(), "top")) == ["g", "g2", "a", "b"]
    assert list_ids(place_gold(retrieved_passages, record, "short", Context(), "bottom")) == ["a", "b", "g", "g2"]
    # "inserted" changes nothing if a gold passage was retrieved
    assert place_gold(retrieved_passages, record, "short", Context(), "inserted") == retrieved_passages


@given(st.integers(1, 8), st.integers(0, 50), st.text(max_size=4), st.sampled_from(["inserted", "top", "bottom"]))
def test_placing_is_repeatable_and_keeps_the_order_of_the_other_passages(
    k: int, seed: int, id_: str, placement: str
) -> None:
    given_passages = make_passages_with_answer_in_g(*"abcdef", "x")
    retrieved_passages = given_passages[:6][:k]  # without x, the gold passage
    record: Any = {**make_record(given_passages, ("x",)), "id": id_}
    placed_passages = place_gold(retrieved_passages, record, "short", Context(k=k, seed=seed), placement)
    assert placed_passages == place_gold(retrieved_passages, record, "short", Context(k=k, seed=seed), placement)
    assert len(placed_passages) == min(k, 7)
    placed_ids = list_ids(placed_passages)
    assert "x" in placed_ids
    assert [passage_id for passage_id in placed_ids if passage_id != "x"] == list_ids(given_passages)[
        : len(placed_ids) - 1
    ]


@pytest.mark.parametrize("placement", ["inserted", "retrieved", "top", "bottom"])
def test_without_a_gold_passage_the_ranking_is_unchanged(placement: str) -> None:
    # Passage g contains an answer, but for a yes/no question that does not make it gold.
    retrieved_passages = make_passages_with_answer_in_g("g", "a", "b")
    assert place_gold(retrieved_passages, make_record([]), "yes_no", Context(k=3), placement) == retrieved_passages


def test_inserted_gold_passages_come_to_every_rank() -> None:
    """The rank is drawn from the context's seed and the question's id."""
    given_passages = make_passages_with_answer_in_g("a", "b", "c", "g")
    ranks = set()
    for number in range(40):
        record: Any = {**make_record(given_passages, ("g",)), "id": f"q{number}"}
        ranks.add(list_ids(place_gold(given_passages[:3], record, "short", Context(k=3), "inserted")).index("g"))
    assert ranks == {0, 1, 2}
