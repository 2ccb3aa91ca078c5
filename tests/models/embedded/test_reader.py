"""The embedded reader as a chat model: which prompts it serves, and what its calls return."""

import asyncio
import gc
import weakref

import pytest
from langchain_core.messages import HumanMessage
from reader_fixtures import (
    BIRTH_QUESTION,
    PARSERS,
    PASSAGES,
    TESTED_ELSEWHERE,
    forget_readings_before_each_test,
    make_message,
    reply,
)

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.graphs import answer
from quorum.models.embedded.chat import EmbeddedReader
from quorum.models.embedded.encoder import get_encoder
from quorum.models.embedded.responders import RESPONDERS
from quorum.prompts.registry import PROMPTS

__all__ = ["forget_readings_before_each_test"]  # a fixture that pytest uses for every test of this file


CLAIM_PROMPTS = ["answer_candidates_label", "answer_label"]
REFUSED_PROMPTS = {name: prompt.offline for name, prompt in PROMPTS.items() if isinstance(prompt.offline, str)}


def test_the_reader_replies_to_every_prompt_or_says_why_not() -> None:
    assert dict(RESPONDERS) == {name: prompt.offline for name, prompt in PROMPTS.items()}
    assert set(PARSERS) | TESTED_ELSEWHERE | set(REFUSED_PROMPTS) == set(PROMPTS)


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
        SetupError, match=f"cannot answer {refused_name}: it serves only the prompts .* choose a chat model"
    ):
        await EmbeddedReader().ainvoke([message])
    with pytest.raises(SetupError, match=refused_name):
        EmbeddedReader().invoke([message])


@pytest.mark.parametrize("prompt", CLAIM_PROMPTS)
async def test_claims_are_refused(prompt: str) -> None:
    with pytest.raises(SetupError, match=r"cannot check claims .* for example --model openai:"):
        await reply(prompt)


@pytest.mark.parametrize("prompt", REFUSED_PROMPTS)
async def test_what_the_reader_cannot_do_is_refused_with_the_prompts_sentence(prompt: str) -> None:
    message = HumanMessage("x", additional_kwargs={"quorum": {"prompt": prompt, "inputs": {}, "sample": 0}})
    with pytest.raises(SetupError, match=r"^The embedded reader (cannot|is never)") as caught:
        await EmbeddedReader().ainvoke([message])
    assert str(caught.value) == REFUSED_PROMPTS[prompt]


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
