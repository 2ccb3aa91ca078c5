"""The parsers of react and self_ask accept any reply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.parsing.steps import parse_final_answer, parse_self_ask_step, parse_step

REPLY_LINES = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(
            [
                *(
                    "Thought 1:",
                    "Action 1: Search[x]",
                    "Action: Finish[",
                    "Observation 1: x",
                    "Search[",
                    "]",
                    "```",
                    "{",
                    "}",
                ),
                *("Follow up:", "Follow up: x?", "Intermediate answer: x", "So the final answer is:", "No.", "Yes."),
                '{"action": "Search[x]"}',
            ]
        ),
    ),
    max_size=8,
).map("\n".join)


@given(REPLY_LINES)
def test_any_reply_gives_at_most_one_query_or_answer_on_one_line(reply: str) -> None:
    action, step = parse_step(reply).value, parse_self_ask_step(reply).value
    assert action.query is None or action.answer is None
    assert step.question is None or step.answer is None
    for text in (action.query, action.answer, step.question, step.answer, parse_final_answer(reply).value.answer):
        assert text is None or (text.strip() == text != "" and len(text.splitlines()) == 1)
    assert len(action.thought.splitlines()) <= 1


@given(REPLY_LINES)
def test_a_reply_without_an_action_is_malformed(reply: str) -> None:
    parsed_step = parse_step(reply)
    assert parsed_step.malformed or parsed_step.value.query or parsed_step.value.answer


@pytest.mark.parametrize(
    "piece",
    [
        "\n",
        "Thought 1: x\n",
        "Search[",
        "[",
        "Action 1:\n",
        "Finish\n",
        "Follow up:\n",
        "So the ",
        "Yes.\n",
        "* ",
        "No. ",
    ],
)
def test_a_reply_that_repeats_itself_is_read(piece: str) -> None:
    """A regular expression that takes quadratic time in the length of the reply would take minutes here."""
    assert parse_step("So.\n" + piece * 20000).value
    assert parse_self_ask_step("So.\n" + piece * 20000).value
    assert parse_final_answer("So.\n" + piece * 20000).value.answer
