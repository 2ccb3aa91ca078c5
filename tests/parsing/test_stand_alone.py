"""Replies that rewrite a follow-up question as a question that can be understood without the conversation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.parsing.answers import Parsed
from quorum.parsing.stand_alone import parse_stand_alone_question

FOLLOW_UP_QUESTION, STAND_ALONE_QUESTION = "How tall is it?", "How tall is the Eiffel Tower?"


@pytest.mark.parametrize(
    "reply",
    [
        STAND_ALONE_QUESTION,
        f'"{STAND_ALONE_QUESTION}"',
        f"**{STAND_ALONE_QUESTION}**",
        f"Question: {STAND_ALONE_QUESTION}",
        f"Question that stands alone: {STAND_ALONE_QUESTION}",
        f"**Rewritten question:** {STAND_ALONE_QUESTION}",
        f"Standalone question:\n{STAND_ALONE_QUESTION}",
        f"Here is the question, rewritten:\n\n{STAND_ALONE_QUESTION}\n\nI put the tower in the place of it.",
        f"```\n{STAND_ALONE_QUESTION}\n```",
    ],
)
def test_the_rewritten_question_is_read(reply: str) -> None:
    assert parse_stand_alone_question(reply, FOLLOW_UP_QUESTION) == Parsed(STAND_ALONE_QUESTION)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "  \n",
        "---",
        "Question:",
        "unknown",
        "None",
        "The passages do not say.",
        "It is 330 metres tall.",
        'The answer to the question "How tall is it?" is "330 metres".',
        "?" * 1001,
    ],
)
def test_an_unusable_reply_leaves_the_question_unchanged(reply: str) -> None:
    assert parse_stand_alone_question(reply, FOLLOW_UP_QUESTION) == Parsed(FOLLOW_UP_QUESTION, malformed=True)


@given(st.text(max_size=2000))
def test_any_reply_gives_a_question_on_one_line(reply: str) -> None:
    parsed_question = parse_stand_alone_question(reply, FOLLOW_UP_QUESTION)
    assert parsed_question.value
    assert "\n" not in parsed_question.value


def test_a_question_may_end_in_a_quotation() -> None:
    question = 'Who wrote the play "Who is afraid of the wolf?"'
    assert parse_stand_alone_question(question, "Who wrote it?") == Parsed(question)
