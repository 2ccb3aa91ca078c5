"""A parameter that a model refuses is left out of later calls. If it is temperature, the results say so."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_clock import FakeClock
from langchain_openai import ChatOpenAI
from langchain_openai.chat_models.base import BaseChatOpenAI
from method_fixtures import PASSAGES, QUESTION
from openai_bodies import Response, make_error
from openai_server import OpenAIServer, Request
from quorum_command import Quorum

from quorum.core.context import Context
from quorum.core.errors import CallError
from quorum.graphs import answer
from quorum.models.call import Reply, call

SERVED_CONTEXT = Context(model="openai:test")


async def ask(text: str = "Which?", context: Context = SERVED_CONTEXT, **call_options: Any) -> list[Reply]:
    return await call("answer", text, context=context, clock=FakeClock(), **call_options)


def refuse_parameter(name: str, message: str, status: int = 400, **fields: Any) -> Callable[[Request], str | Response]:
    """Make the reply function of a model that refuses the parameter `name` with an error of this message and status.

    fields: further fields of the error in the response's body.
    """

    def reply(request: Request) -> str | Response:
        if name not in request.body:
            return "fine"
        refusal = make_error(status, message)
        refusal.body["error"].update(fields)
        return refusal

    return reply


# How servers word a refusal: (the refused parameter, the message).
REFUSAL_WORDINGS = {
    "fixed": (
        "temperature",
        "Unsupported value: 'temperature' does not support 0. Only the default (1) is supported.",
    ),
    "o1": ("temperature", "Unsupported parameter: 'temperature' is not supported with this model."),
    "seed": ("seed", "Unrecognized request argument supplied: seed"),
    "pydantic": (
        "top_p",
        "[{'loc': ('body', 'top_p'), 'msg': 'Extra inputs are not permitted'}]",
    ),
    "deprecated": ("top_p", "`top_p` is deprecated for this model."),
}


@pytest.mark.parametrize(("name", "message"), REFUSAL_WORDINGS.values(), ids=REFUSAL_WORDINGS)
@pytest.mark.parametrize("status", [400, 422])
async def test_a_refused_parameter_is_sent_once_and_reported_once(
    openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture, name: str, message: str, status: int
) -> None:
    openai_server.reply(refuse_parameter(name, message, status))
    context = Context(model="openai:test", temperature=0.7, top_p=0.9)
    for text in ("a", "b"):
        assert [item.text for item in await ask(text, context)] == ["fine"]
    assert len(openai_server.chats()) == 3  # the refused request, its repetition without the parameter, and prompt b
    assert [name in request.body for request in openai_server.chats()] == [True, False, False]
    assert caplog.text.count(f"does not take {name}; going on without it") == 1


async def test_the_field_param_of_an_error_names_the_refused_parameter(openai_server: OpenAIServer) -> None:
    message = "Unsupported: this model has a fixed temperature when a seed is given"
    openai_server.reply(refuse_parameter("seed", message, param="seed", code="unsupported_parameter"))
    (reply,) = await ask(context=Context(model="openai:test", temperature=0.7))
    assert (reply.text, reply.temperature_refused) == ("fine", False)
    assert "temperature" in openai_server.chats()[-1].body


def test_a_later_event_loop_does_not_send_a_refused_parameter_again(openai_server: OpenAIServer) -> None:
    openai_server.reply(refuse_parameter(*REFUSAL_WORDINGS["o1"]))
    for text in ("a", "b"):
        assert asyncio.run(ask(text))[0].text == "fine"
    assert len(openai_server.chats()) == 3


async def test_an_invalid_value_is_an_error_and_is_not_dropped(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(400, "temperature must be at most 1"))
    with pytest.raises(CallError, match="temperature must be at most 1"):
        await ask(context=Context(model="openai:test", temperature=1.5))
    assert len(openai_server.chats()) == 1


async def test_a_parameter_that_is_refused_although_it_is_not_sent_is_an_error(openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(400, "Unsupported parameter: 'temperature'"))
    with pytest.raises(CallError, match="Unsupported parameter: 'temperature'"):
        await ask()
    assert len(openai_server.chats()) == 2  # the second request, without temperature, was refused, too


def make_limited_context(client_class: type[BaseChatOpenAI], url: str) -> Context:
    """A context with a user's own client, which limits replies to 50 tokens.

    A BaseChatOpenAI first sends the limit as max_tokens, a ChatOpenAI as max_completion_tokens.
    """
    return Context(model=client_class(model="test", base_url=url, api_key="none", max_retries=0, max_tokens=50))


async def test_a_limit_on_tokens_is_sent_under_the_name_that_the_server_takes(openai_server: OpenAIServer) -> None:
    message = (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    openai_server.reply(refuse_parameter("max_tokens", message, param="max_tokens"))
    context = make_limited_context(BaseChatOpenAI, openai_server.url)
    assert [(await ask(text, context))[0].text for text in "ab"] == ["fine", "fine"]
    assert [request.body.get("max_completion_tokens") for request in openai_server.chats()] == [None, 50, 50]
    openai_server.reply(
        refuse_parameter("max_completion_tokens", "Unrecognized request argument supplied: max_completion_tokens")
    )
    context = make_limited_context(ChatOpenAI, openai_server.url)
    assert (await ask("c", context))[0].text == "fine"
    assert [request.body.get("max_tokens") for request in openai_server.chats()[-2:]] == [None, 50]


async def test_a_limit_that_is_refused_under_both_names_is_dropped(openai_server: OpenAIServer) -> None:
    def refuse_both_names(request: Request) -> str | Response:
        name = next((item for item in ("max_tokens", "max_completion_tokens") if item in request.body), None)
        return "fine" if name is None else make_error(400, f"unknown parameter: {name}")

    openai_server.reply(refuse_both_names)
    assert (await ask(context=make_limited_context(ChatOpenAI, openai_server.url)))[0].text == "fine"
    assert len(openai_server.chats()) == 3


async def test_a_model_objects_own_temperature_is_dropped_too(openai_server: OpenAIServer) -> None:
    openai_server.reply(refuse_parameter(*REFUSAL_WORDINGS["o1"]))
    model = ChatOpenAI(model="test", base_url=openai_server.url, api_key="none", max_retries=0, temperature=0)  # type: ignore[arg-type]
    (reply,) = await ask(context=Context(model=model))
    assert (reply.text, reply.temperature_refused, model.temperature) == ("fine", True, 0)


async def test_samples_of_a_model_without_temperature_are_separate_requests(openai_server: OpenAIServer) -> None:
    replies = iter("abc")

    def reply(request: Request) -> str | Response:
        return make_error(400, REFUSAL_WORDINGS["o1"][1]) if "temperature" in request.body else next(replies)

    openai_server.reply(reply)
    assert sorted(item.text for item in await ask(n=3)) == ["a", "b", "c"]


async def test_a_stored_reply_still_says_that_temperature_0_was_refused(
    openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.reply(refuse_parameter(*REFUSAL_WORDINGS["o1"]))
    context = Context(model="openai:test", journal=str(tmp_path / "journal.sqlite"))
    replies = [(await ask(context=context))[0] for _ in range(2)]
    assert [(reply.is_reused, reply.temperature_refused) for reply in replies] == [(False, True), (True, True)]


@pytest.mark.parametrize("greedy", [True, False])
async def test_votes_that_were_not_greedy_are_not_certified(openai_server: OpenAIServer, greedy: bool) -> None:
    openai_server.reply("1931" if greedy else refuse_parameter(*REFUSAL_WORDINGS["o1"]))
    result = await answer(QUESTION, "post_fusion", SERVED_CONTEXT, given=PASSAGES)
    assert result["temperature_refused"] is not greedy
    assert (result["certified"] is not None) is greedy


def test_an_evaluation_says_that_a_model_refused_temperature_0(
    openai_server: OpenAIServer, quorum: Quorum, tmp_path: Path
) -> None:
    line = {"id": "q", "question": QUESTION, "answers": ["1931"], "passages": PASSAGES}
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps(line) + "\n", encoding="utf-8")
    openai_server.reply(refuse_parameter(*REFUSAL_WORDINGS["o1"]))
    folder = tmp_path / "out"
    run = quorum("eval", data, "--methods", "concat", "--model", "openai:test", "--out", folder)
    assert (run.code, "temperature refused" in run.out) == (0, True)  # a column of the table
    assert json.loads((folder / "results.jsonl").read_text(encoding="utf-8"))["temperature_refused"] is True
    assert json.loads((folder / "summary.json").read_text(encoding="utf-8"))["concat"]["temperature_refused"] == 1
