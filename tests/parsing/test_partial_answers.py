"""The answer in a reply that is still being written."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.parsing.partial_answers import asks_for_text, read_partial_answer
from quorum.parsing.read_reply import read_reply
from quorum.prompts import BUILT_IN

REPLY = "Answer: The tower was finished in 1931, after a strike of its builders that took two years. It stands in Vell."
REFUSAL = "The passages do not say when the tower was finished, and nothing else in them settles it."


def read_all(reply: str, prompt: str = "answer_long") -> list[str]:
    """The partial answer after each character."""
    return [read_partial_answer(prompt, reply[:end], "When?") for end in range(len(reply) + 1)]


def test_long_answers_and_turns_of_a_dialogue_are_written_out() -> None:
    collected = {name for name in BUILT_IN if asks_for_text(name)}
    assert collected == {f"answer{kind}_{form}" for kind in ("", "_candidates") for form in ("long", "dialogue")}


def test_what_is_shown_grows_and_begins_the_answer() -> None:
    whole_answer = read_reply("answer_long", REPLY).value
    partial_answers = read_all(REPLY)
    assert all(later.startswith(earlier) for earlier, later in pairwise(partial_answers))
    assert all(whole_answer.startswith(item) for item in partial_answers)
    assert partial_answers[-1] == whole_answer.rpartition(" ")[0]
    assert next(item for item in partial_answers if item).startswith("The tower was finished")


@pytest.mark.parametrize("reply", [REFUSAL, "unknown", "The tower was"])
def test_nothing_is_shown_of_a_refusal(reply: str) -> None:
    assert set(read_all(reply)) == {""}


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(read_partial_answer("answer_dialogue", text, "When?"), str)
