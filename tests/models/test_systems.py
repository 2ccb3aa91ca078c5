"""The user's own systems, which are compared with the methods: their specs, and what they may return."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from openai_bodies import Response, make_error
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import CallError, SetupError
from quorum.core.state import Passage
from quorum.models.systems import ChatServer, read_system, read_system_reply

PASSAGE = Passage(id="1", title="Vell", text="Ada Korn built it.")
SYSTEM_MODULE = """
import asyncio

def plain(question):
    return f"<think>so</think>{question}!"

async def read_title(question, passages):
    await asyncio.sleep(0)
    return {"answer": passages[0]["title"], "usage": {"input_tokens": 7}}

def broken(question):
    raise ValueError("no index")

def give_number(question):
    return 42

text = "no function"
"""


@pytest.fixture
def own_system_module() -> None:
    """Write SYSTEM_MODULE as bring_your_own.py to the working directory, an empty folder."""
    Path("bring_your_own.py").write_text(SYSTEM_MODULE)


async def ask(function: str, passages: Sequence[Passage] | None = None, **settings: Any) -> Any:
    """The reply of a function of bring_your_own.py to the question "Why?"."""
    system = read_system("mine", f"python:bring_your_own:{function}")
    return await system.ask("Why?", passages, Context(**settings))


@pytest.mark.usefixtures("own_system_module")
async def test_a_system_may_be_a_plain_or_an_asynchronous_function_and_may_read_passages() -> None:
    assert (await ask("plain")).text == "Why?!"
    reply = await ask("read_title", [PASSAGE])
    assert (reply.text, reply.usage["input_tokens"], reply.usage["calls"]) == ("Vell", 7, 1)


@pytest.mark.usefixtures("own_system_module")
@pytest.mark.parametrize(
    ("function", "message"), [("broken", "ValueError: no index"), ("give_number", "returned no answer")]
)
async def test_a_failing_function_raises_a_call_error(function: str, message: str) -> None:
    with pytest.raises(CallError, match=message):
        await ask(function)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("ftp://host#x", "cannot be read; write for example"),
        ("http://host/v1", "no name of a model or an assistant after '#'"),
        ("http:///v1#model", "has no server's URL"),
        ("langgraph:host#agent", "has no server's URL"),
        ("python:module", "cannot be read"),
        ("python:no_such_module_here:f", "cannot be imported"),
        ("python:json:no_such_function", "cannot be imported"),
        ("python:json:__name__", "not a function"),
    ],
)
def test_an_unusable_system_spec_is_refused(spec: str, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        read_system("mine", spec)


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        ("1931", "1931"),
        ({"answer": "1931", "messages": [{"content": "other"}]}, "1931"),
        ({"messages": [{"role": "user", "content": "When?"}, {"role": "assistant", "content": "1931"}]}, "1931"),
        ({"messages": [{"content": [{"type": "text", "text": "19"}, {"type": "text", "text": "31"}]}]}, "1931"),
    ],
)
def test_the_answer_is_found_in_what_a_system_returns(returned: Any, text: str) -> None:
    assert read_system_reply("mine", returned).text == text


def test_passages_and_tokens_are_read_if_a_system_returns_them() -> None:
    usage = {"answer": {"calls": 2, "input_tokens": 5, "output_tokens": 1}, "vote": {"calls": 1, "input_tokens": 3}}
    result = read_system_reply("mine", {"answer": "a", "passages": ["text", dict(PASSAGE)], "usage": usage})
    assert [passage["text"] for passage in result.passages] == ["text", "Ada Korn built it."]
    untitled = read_system_reply("mine", {"answer": "a", "passages": [{"id": None, "title": None, "text": "t"}] * 2})
    assert [(passage["id"], passage["title"]) for passage in untitled.passages] == [("1", ""), ("2", "")]
    assert (result.usage["calls"], result.usage["input_tokens"], result.usage["output_tokens"]) == (3, 8, 1)


def test_input_token_details_are_not_read_as_the_usage_of_a_prompt() -> None:
    usage = {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8, "input_token_details": {"cache_read": 2}}
    counts = read_system_reply("mine", {"answer": "a", "usage": usage}).usage
    assert (counts["calls"], counts["input_tokens"], counts["output_tokens"]) == (1, 5, 3)


async def test_a_chat_server_gets_only_the_question_and_its_own_key(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "openai-secret")
    openai_server.reply('<think>so</think>Not sure. Perhaps: 1931\n\n> In **1931**.\n\nSources:\n1. Towers: "1931"')
    system = read_system("my-bot", f"{openai_server.url}#their-model")
    reply = await system.ask("When?", [PASSAGE], Context(journal="off"))
    assert (reply.text, reply.usage["calls"]) == ("1931", 1)
    monkeypatch.setenv("MY_BOT_API_KEY", "mine-alone")  # the variable for systems named "my-bot" or "my_bot"
    other_system = ChatServer("my_bot", openai_server.url, "their-model")
    await other_system.ask("When?", None, Context(journal="off"))
    first, second = openai_server.chats()
    assert first.body["messages"] == [{"content": "When?", "role": "user"}]
    assert first.body["model"] == "their-model"
    assert [item.headers["authorization"] for item in (first, second)] == ["Bearer none", "Bearer mine-alone"]


async def test_failures_of_a_chat_server_are_retried_like_those_of_a_model(openai_server: OpenAIServer) -> None:
    openai_server.reply([make_error(503, "busy", Retry_After="0"), Response("1931", truncate=True), "1931"])
    system = read_system("mine", f"{openai_server.url}#m")
    assert (await asyncio.wait_for(system.ask("When?", None, Context()), 60)).text == "1931"
    assert len(openai_server.chats()) == 3
