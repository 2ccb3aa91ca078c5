"""`read_reply` reads the reply to a prompt as the node that sends the prompt does."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum import SetupError, read_reply
from quorum.prompts import BUILT_IN
from quorum.prompts.read_reply import list_required_arguments
from quorum.prompts.registry import PROMPTS, get_prompt


def test_every_text_has_a_prompt_and_every_prompt_a_text() -> None:
    assert {name.partition(".")[0] for name in BUILT_IN} == set(PROMPTS)
    assert get_prompt("candidates.paper") is PROMPTS["candidates"]


CANDIDATES = ["Ada Korn", "Jonas Brekke"]


@pytest.mark.parametrize(
    ("prompt", "reply", "extras", "value"),
    [
        ("answer", "Answer: Ada Korn", {}, "Ada Korn"),
        ("answer_yes_no", "No, it was not.", {}, "no"),
        ("answer_label", "SUPPORTS", {}, "SUPPORTS"),
        ("answer_choices", "(B)", {"candidates": CANDIDATES}, "Jonas Brekke"),
        ("candidates", "(a) Ada Korn (b) Jonas Brekke", {"count": 2}, CANDIDATES),
        ("candidates.paper", "(a) Ada Korn (b) Jonas Brekke", {"count": 1}, CANDIDATES[:1]),
        # The value of the prompt `choose` counts passages from 1; those of `rank_passages` and `ranking` count from 0.
        ("choose", "Passages 1 and 3", {"count": 3}, [1, 3]),
        ("rank_passages", "[3] > [1] > [2]", {"count": 3}, [2, 0, 1]),
        ("filter_sentences", "It is old.", {"candidates": ["It is old. It is red."]}, ["It is old."]),
        ("ranking", "Passage 2", {}, 1),
        ("preference", "They are equal.", {}, None),
        ("validity", "True", {}, True),
        ("correctness", "Incorrect.", {}, False),
        ("topic", "the lighthouse", {"question": "Who built it?"}, "the lighthouse"),
        ("answer", "<think>Is it Jonas?</think>Ada Korn", {}, "Ada Korn"),
    ],
)
def test_the_value_of_a_reply_is_read(prompt: str, reply: str, extras: dict[str, Any], value: Any) -> None:
    reading = read_reply(prompt, reply, **extras)
    assert (reading.value, reading.malformed) == (value, False)


def test_values_have_named_fields() -> None:
    reasoned_answer = read_reply(
        "pruning", "Passage 2 is about Vell.\nAnswer: Ada Korn", question="Who built it?"
    ).value
    assert (reasoned_answer.rationale, reasoned_answer.answer) == ("Passage 2 is about Vell.", "Ada Korn")
    assert read_reply("reason_yes_no", "It was built. So the answer is yes.").value.answer == "yes"
    step = read_reply("react", "Thought 1: Look.\nAction 1: Search[Vell]").value
    assert (step.thought, step.query, step.answer) == ("Look.", "Vell", None)
    assert read_reply("self_ask", "So the final answer is: Ada Korn").value.answer == "Ada Korn"
    assert read_reply("self_ask", "Follow up: Where is Vell?").value.question == "Where is Vell?"
    masking_reply = "Statement: The [MASK] of Vell was built by Ada Korn.\nHidden: lighthouse"
    assert read_reply("mask_condition", masking_reply).value["hidden_words"] == "lighthouse"
    masked_answer_reply = "Statement: The lighthouse was built by [MASK].\nHidden: Ada Korn"
    assert read_reply("mask_condition", masked_answer_reply, candidates=["Ada Korn"]).value is None
    draft = read_reply("question_single", "Question: Who built it?\nAnswer: Ada Korn").value
    assert (draft.question, draft.answers) == ("Who built it?", ["Ada Korn"])


@pytest.mark.parametrize("prompt", [name for name, item in PROMPTS.items() if list_required_arguments(item)])
def test_a_missing_argument_is_a_setup_error_that_names_it(prompt: str) -> None:
    (required_argument,) = list_required_arguments(PROMPTS[prompt])
    with pytest.raises(SetupError, match=f"'{prompt}', give {required_argument}="):
        read_reply(prompt, "1")


def test_an_unknown_prompt_is_a_setup_error_that_lists_the_prompts() -> None:
    with pytest.raises(SetupError, match="There is no prompt 'anwser'; the prompts are: agent, answer, "):
        read_reply("anwser", "Ada Korn")


@given(prompt=st.sampled_from(sorted(PROMPTS)), reply=st.text())
def test_read_reply_never_raises_whatever_the_reply_is(prompt: str, reply: str) -> None:
    reading = read_reply(prompt, reply, question="Who?", candidates=CANDIDATES, count=2)
    assert reading.malformed in (True, False)
