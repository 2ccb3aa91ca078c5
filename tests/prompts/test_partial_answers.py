"""The answer in a reply that is still being written."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.prompts.partial_answers import has_streamed_answer, read_partial_answer
from quorum.prompts.read_reply import read_reply
from quorum.prompts.registry import PROMPTS

REPLY = "Answer: The tower was finished in 1931, after a strike of its builders that took two years. It stands in Vell."
REFUSAL = "The passages do not say when the tower was finished, and nothing else in them settles it."


def read_partial_answers(reply: str, prompt: str = "answer_long") -> list[str]:
    """The partial answers in all beginnings of the reply, from the empty one to the whole reply."""
    return [read_partial_answer(prompt, reply[:end], "When?") for end in range(len(reply) + 1)]


def test_long_answers_and_turns_of_a_dialogue_are_shown_while_they_are_written() -> None:
    streamed_prompts = {name for name in PROMPTS if has_streamed_answer(name)}
    assert streamed_prompts == {f"answer{kind}_{form}" for kind in ("", "_candidates") for form in ("long", "dialogue")}


def test_each_partial_answer_continues_the_one_before_and_is_the_beginning_of_the_whole_answer() -> None:
    whole_answer = read_reply("answer_long", REPLY).value
    partial_answers = read_partial_answers(REPLY)
    assert all(later.startswith(earlier) for earlier, later in pairwise(partial_answers))
    assert all(whole_answer.startswith(item) for item in partial_answers)
    assert partial_answers[-1] == whole_answer.rpartition(" ")[0]  # the last word may be incomplete
    assert next(item for item in partial_answers if item).startswith("The tower was finished")


@pytest.mark.parametrize("reply", [REFUSAL, "unknown", "The tower was"])
def test_nothing_is_shown_of_a_refusal_or_of_the_first_words(reply: str) -> None:
    assert set(read_partial_answers(reply)) == {""}


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(read_partial_answer("answer_dialogue", text, "When?"), str)
