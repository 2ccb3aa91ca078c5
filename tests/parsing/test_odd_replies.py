"""Replies that once broke a parser or kept it busy for ever: `python -m benchmarks.fuzz` found them."""

import pytest

from quorum.parsing.choices import parse_choice
from quorum.parsing.passage_ids import parse_passage_ids


# Dotted capital I, long s and the Kelvin sign: a match that ignores case takes them for "i", "s" and "k".
@pytest.mark.parametrize("reply", ["\u0130", "(\u017f)", "\u212a.", "answer: \u0130"])
def test_a_letter_outside_a_to_z_is_no_choice(reply: str) -> None:
    towns = [f"Town {n}" for n in range(1, 27)]  # one for each letter
    parsed_choice = parse_choice(reply, towns)
    assert (parsed_choice.value not in towns, parsed_choice.malformed) == (True, True)


@pytest.mark.parametrize("separator", [", ", " , ", ";", " and ", ",, "])
def test_a_long_list_does_not_keep_the_parser_busy(separator: str) -> None:
    # A pattern that tries every way to split the list would never finish on these replies.
    reply = separator.join(["1"] * 300)
    assert parse_passage_ids(reply + separator, 5).value == [1]
    # Before "apples" the pattern for a list at the beginning fails, but only after it has matched all the numbers.
    assert 2 in parse_passage_ids(reply + " apples, passage 2", 5).value
