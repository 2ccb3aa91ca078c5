"""Replies that once broke a parser or kept it busy for ever: `python -m benchmarks.fuzz` found them."""

import pytest

from quorum.parsing.choices import parse_choice
from quorum.parsing.passage_ids import parse_passage_ids


@pytest.mark.parametrize("reply", ["İ", "(ſ)", "K.", "answer: İ"])
def test_a_word_that_looks_like_a_letter_is_no_choice(reply: str) -> None:
    parsed_choice = parse_choice(reply, ["Rohrau", "Vienna"])
    assert (parsed_choice.value not in ("Rohrau", "Vienna"), parsed_choice.malformed) == (True, True)


@pytest.mark.parametrize("separator", [", ", " , ", ";", " and ", ",, "])
def test_a_long_list_is_read_in_no_time(separator: str) -> None:
    reply = separator.join(["1"] * 300)
    assert parse_passage_ids(reply + separator, 5).value == [1]
    assert 2 in parse_passage_ids(reply + " apples, passage 2", 5).value
