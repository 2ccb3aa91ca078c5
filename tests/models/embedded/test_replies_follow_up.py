"""The embedded reader on follow-up questions: it adds the names that the last turns mention."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.context import Context
from quorum.graphs import answer
from quorum.models.embedded.replies import Sampler
from quorum.models.embedded.replies_follow_up import stand_alone
from quorum.parsing.stand_alone import parse_stand_alone_question

HISTORY = "User: Who designed the Eiffel Tower?\nAssistant: Gustave Eiffel"


@pytest.mark.parametrize(
    ("question", "expected_reply"),
    [
        ("How tall is it?", "How tall is it? (Gustave Eiffel, Eiffel Tower)"),
        ("Where was he born?", "Where was he born? (Gustave Eiffel, Eiffel Tower)"),
        ("Why?", "Why? (Gustave Eiffel, Eiffel Tower)"),
        ("And Gustave Eiffel?", "And Gustave Eiffel? (Eiffel Tower)"),
        ("Who painted the Mona Lisa?", "Who painted the Mona Lisa?"),
        ("which river flows through central london", "which river flows through central london"),
    ],
)
async def test_names_are_added_to_a_question_that_refers_back(question: str, expected_reply: str) -> None:
    assert await stand_alone({"history": HISTORY, "question": question}, Sampler()) == expected_reply


async def test_only_names_of_the_last_turns_count() -> None:
    history = "User: Who was Ada Korn?\nAssistant: Nobody\n" + f"{HISTORY}\n{HISTORY}"
    assert "Korn" not in await stand_alone({"history": history, "question": "Why?"}, Sampler())


@given(st.text(min_size=1).filter(str.strip), st.text(), st.text())
async def test_the_reply_begins_with_the_question_and_can_be_parsed(
    question: str, earlier_question: str, earlier_answer: str
) -> None:
    question_in_one_line = " ".join(question.split())
    reply = await stand_alone(
        {"history": f"User: {earlier_question}\nAssistant: {earlier_answer}", "question": question}, Sampler()
    )
    assert reply.startswith(question_in_one_line)
    assert parse_stand_alone_question(reply, question).value


@pytest.mark.usefixtures("sample_vectors")
async def test_a_follow_up_about_the_sample_collection_is_answered_offline() -> None:
    history = [
        {"role": "user", "content": "Who designed the Eiffel Tower?"},
        {"role": "assistant", "content": "Gustave Eiffel"},
    ]
    assert (await answer("How tall is it?", context=Context(), history=history))["answer"] == "330 metres"
