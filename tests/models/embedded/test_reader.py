"""The embedded reader as a chat model: which prompts it serves, and what its calls return."""

import asyncio
import gc
import weakref

import pytest
from langchain_core.messages import HumanMessage
from reader_fixtures import BIRTH_QUESTION, PARSERS, PASSAGES, forget_readings_before_each_test, make_message, reply

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.graphs import answer
from quorum.models.embedded.chat import EmbeddedReader
from quorum.models.embedded.encoder import get_encoder
from quorum.models.embedded.responders import RESPONDERS
from quorum.prompts import BUILT_IN

__all__ = ["forget_readings_before_each_test"]  # a fixture that pytest uses for every test of this file


FILTER_PROMPTS = {"filter_sentences", "filter_passages"}  # tested in tests/models/test_context_filters.py
CLAIM_PROMPTS = {"answer_label", "answer_candidates_label"}
JUDGE_PROMPTS = {"correctness"}
FOLLOW_UP_PROMPTS = {"stand_alone"}  # the reply is a question: tested in test_replies_follow_up.py
QUESTION_PROMPTS = {"question_single", "question_two", "question_unanswerable"}  # the reader refuses them


def test_every_prompt_has_a_responder() -> None:
    """A variant of a prompt, NAME.VARIANT, is sent under the prompt's name."""
    never_asked = {"shorten"}  # the reader's answers are short already
    assert {name for name in BUILT_IN if "." not in name} - never_asked == set(RESPONDERS)
    assert (
        set(RESPONDERS)
        == set(PARSERS) | FILTER_PROMPTS | CLAIM_PROMPTS | QUESTION_PROMPTS | FOLLOW_UP_PROMPTS | JUDGE_PROMPTS
    )


@pytest.mark.parametrize("prompt", PARSERS)
async def test_usage_counts_tokens(prompt: str) -> None:
    received_reply = await reply(prompt)
    message = make_message(prompt, BIRTH_QUESTION, PASSAGES)
    assert received_reply.usage_metadata is not None
    assert received_reply.usage_metadata["input_tokens"] == get_encoder().count_tokens(message.text)
    assert received_reply.usage_metadata["output_tokens"] == get_encoder().count_tokens(received_reply.text)
    assert received_reply.response_metadata["finish_reason"] == "stop"


async def test_evidence_is_verbatim() -> None:
    result = await answer(BIRTH_QUESTION, "post_fusion", Context(), given=PASSAGES)
    assert "Rohrau" in result["answer"]
    assert result["evidence"][0]["start"] is not None
    texts = {passage["id"]: passage["text"] for passage in PASSAGES}
    for evidence in result["evidence"]:
        if evidence["start"] is not None:
            assert texts[evidence["passage"]][evidence["start"] : evidence["end"]] == result["answer"]
    assert result["malformed"] == {}


@pytest.mark.parametrize(
    ("message", "refused_name"),
    [
        (HumanMessage("Hello!"), "free text"),
        (HumanMessage("x", additional_kwargs={"quorum": {"prompt": "sonnet", "inputs": {}}}), "the prompt 'sonnet'"),
    ],
)
async def test_unserved_prompts_are_refused(message: HumanMessage, refused_name: str) -> None:
    with pytest.raises(
        SetupError, match=f"cannot answer {refused_name}: it serves the prompts answer, .* choose a chat model"
    ):
        await EmbeddedReader().ainvoke([message])
    with pytest.raises(SetupError, match=refused_name):
        EmbeddedReader().invoke([message])


@pytest.mark.parametrize("prompt", sorted(CLAIM_PROMPTS))
async def test_claims_are_refused(prompt: str) -> None:
    with pytest.raises(SetupError, match=r"cannot check claims .* for example --model openai:"):
        await reply(prompt)


@pytest.mark.parametrize("prompt", sorted(JUDGE_PROMPTS))
async def test_judging_answers_is_refused(prompt: str) -> None:
    with pytest.raises(SetupError, match=r"cannot judge answers, .* finds text.* for example --judge openai:"):
        await reply(prompt)


@pytest.mark.parametrize("prompt", sorted(QUESTION_PROMPTS))
async def test_writing_questions_is_refused(prompt: str) -> None:
    with pytest.raises(SetupError, match=r"cannot write questions, .* finds text.* for example --model openai:"):
        await reply(prompt)


def test_synchronous_calls_work() -> None:
    assert "Rohrau" in EmbeddedReader().invoke([make_message("answer", BIRTH_QUESTION, PASSAGES)]).text


async def test_synchronous_calls_work_inside_a_running_loop() -> None:
    assert "Rohrau" in EmbeddedReader().invoke([make_message("answer", BIRTH_QUESTION, PASSAGES)]).text


def test_a_closed_event_loop_is_released() -> None:
    async def ask_once() -> weakref.ref[asyncio.AbstractEventLoop]:
        await reply("answer")
        return weakref.ref(asyncio.get_running_loop())

    loop = asyncio.run(ask_once())
    gc.collect()
    assert loop() is None
