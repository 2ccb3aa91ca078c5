"""The parsers of react and self_ask accept any reply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.parsing.steps import parse_final_answer, parse_follow_up, parse_step

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
    act, follow = parse_step(reply).value, parse_follow_up(reply).value
    assert act.query is None or act.answer is None
    assert follow.question is None or follow.answer is None
    for text in (act.query, act.answer, follow.question, follow.answer, parse_final_answer(reply).value.answer):
        assert text is None or (text.strip() == text != "" and len(text.splitlines()) == 1)
    assert len(act.thought.splitlines()) <= 1


@given(REPLY_LINES)
def test_without_an_action_a_reply_is_malformed(reply: str) -> None:
    parsed = parse_step(reply)
    assert parsed.malformed or parsed.value.query or parsed.value.answer


@pytest.mark.parametrize(
    "unit",
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
def test_a_reply_in_a_loop_is_read(unit: str) -> None:
    """A pattern that is quadratic in the length would take minutes here."""
    assert parse_step("So.\n" + unit * 20000).value
    assert parse_follow_up("So.\n" + unit * 20000).value
    assert parse_final_answer("So.\n" + unit * 20000).value.answer
