"""What a reply says that rewrites a follow-up question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.parsing.answers import Parsed
from quorum.parsing.stand_alone import parse_stand_alone_question

ASKED, ALONE = "How tall is it?", "How tall is the Eiffel Tower?"


@pytest.mark.parametrize(
    "reply",
    [
        ALONE,
        f'"{ALONE}"',
        f"**{ALONE}**",
        f"Question: {ALONE}",
        f"Question that stands alone: {ALONE}",
        f"**Rewritten question:** {ALONE}",
        f"Standalone question:\n{ALONE}",
        f"Here is the question, rewritten:\n\n{ALONE}\n\nI put the tower in the place of it.",
        f"```\n{ALONE}\n```",
    ],
)
def test_the_question_is_read(reply: str) -> None:
    assert parse_stand_alone_question(reply, ASKED) == Parsed(ALONE)


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
        "?" * 1001,
    ],
)
def test_anything_else_leaves_the_question(reply: str) -> None:
    assert parse_stand_alone_question(reply, ASKED) == Parsed(ASKED, malformed=True)


@given(st.text(max_size=2000))
def test_no_reply_breaks_it(reply: str) -> None:
    found = parse_stand_alone_question(reply, ASKED)
    assert found.value
    assert "\n" not in found.value
