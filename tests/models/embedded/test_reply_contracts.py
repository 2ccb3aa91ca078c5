"""Every reply of the embedded reader keeps its contract: it has the form that its prompt asks for."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_fixtures import BIRTH_QUESTION, PARSERS, PASSAGES, forget_readings_before_each_test, make_message, reply

from quorum.core.state import Passage
from quorum.core.text import is_unknown
from quorum.models.embedded.chat import EmbeddedReader
from quorum.parsing.answers import Parsed

__all__ = ["forget_readings_before_each_test"]  # a fixture that pytest uses for every test of this file


# Prompts whose reply is an answer to the question, read from the passages.
ANSWER_PROMPTS = {
    *("answer", "answer_candidates", "pruning", "summary"),
    *("answer_base", "zero_shot_cot", "inference"),
    *("react", "react_action", "self_ask_answer", "self_ask_final"),
    *("direct", "reason"),
}


def parse_reply(prompt: str, text: str) -> tuple[str, bool]:
    """(answer, malformed) of a reply."""
    parsed_reply: Parsed[Any] = PARSERS[prompt](text)
    return getattr(parsed_reply.value, "answer", parsed_reply.value), parsed_reply.malformed


@pytest.mark.parametrize("prompt", PARSERS)
async def test_every_reply_keeps_its_contract(prompt: str) -> None:
    text = (await reply(prompt)).text
    answer, malformed = parse_reply(prompt, text)
    assert not malformed
    assert prompt not in ANSWER_PROMPTS or "Rohrau" in answer
    text = (await reply(prompt, "Florbish grindle wumpus toofle?", PASSAGES[2:])).text
    answer, malformed = parse_reply(prompt, text)
    assert not malformed
    assert prompt not in ANSWER_PROMPTS or is_unknown(answer)


@pytest.mark.parametrize("prompt", PARSERS)
@pytest.mark.parametrize("passages", [[], [Passage(id="e", title="", text="")], [Passage(id="t", title="T", text=" ")]])
async def test_nothing_to_read_is_unknown(prompt: str, passages: list[Passage]) -> None:
    for question in (BIRTH_QUESTION, ""):
        for temperature in (0, 1):
            text = (await reply(prompt, question, passages, temperature=temperature)).text
            answer, malformed = parse_reply(prompt, text)
            assert not malformed
            assert prompt not in ANSWER_PROMPTS or is_unknown(answer)


PIECES = [*"ab 1.:{}\"'*-\n#", "Answer: ", "Question: ", "Passages:\n", "東", "🌕", "is in ", "Rohrau"]
ODD_TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@given(ODD_TEXTS, ODD_TEXTS, st.sampled_from(sorted(PARSERS)), st.floats(0, 2))
@settings(max_examples=25, deadline=None)
def test_replies_to_odd_passages_keep_their_contract(text: str, title: str, prompt: str, temperature: float) -> None:
    passages = [Passage(id="o", title=title, text=text), PASSAGES[2]]
    message = make_message(prompt, "Where is a?", passages)
    received_reply = EmbeddedReader().invoke([message], temperature=temperature, seed=3).text
    assert not parse_reply(prompt, received_reply)[1], received_reply


async def test_labels_quoted_from_a_passage_do_not_end_a_rationale() -> None:
    faq = "Question: Where was Joseph Haydn born? Answer: Joseph Haydn was born in Rohrau. Question: When did he die?"
    text = (await reply("summary", passages=[Passage(id="f", title="Haydn", text=faq)])).text
    answer, malformed = parse_reply("summary", text)
    assert "Rohrau" in answer
    assert not malformed
