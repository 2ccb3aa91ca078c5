"""Replies that once broke a parser or kept it busy for ever: `python -m benchmarks.fuzz` found them."""

import pytest

from quorum.parsing.choices import chosen_candidate
from quorum.parsing.passage_ids import passage_ids


@pytest.mark.parametrize("reply", ["İ", "(ſ)", "K.", "answer: İ"])
def test_a_letter_that_only_looks_like_one_chooses_nothing(reply: str) -> None:
    found = chosen_candidate(reply, ["Rohrau", "Vienna"])
    assert (found.value not in ("Rohrau", "Vienna"), found.malformed) == (True, True)


@pytest.mark.parametrize("between", [", ", " , ", ";", " and ", ",, "])
def test_a_long_list_is_read_in_no_time(between: str) -> None:
    reply = between.join(["1"] * 300)
    assert passage_ids(reply + between, 5).value == [1]
    assert 2 in passage_ids(reply + " apples, passage 2", 5).value
