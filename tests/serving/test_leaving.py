"""Whoever leaves stops the work: after any way of leaving, only the calls that are in flight finish.

Each test asks a question that takes ten calls, one after the other, leaves during the first one, and counts the calls
that the model server gets.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from api_server import Api, Serve
from log_pipe import LogPipe
from openai_bodies import Response
from openai_server import OpenAIServer
from starlette.requests import ClientDisconnect

import quorum
from quorum import Context
from quorum.graphs.concat import graph
from quorum.models.scripted import ScriptedModel
from quorum.serving.app import make_app
from quorum.serving.permissions import Permissions
from quorum.serving.service import Service

pytest.importorskip("mcp", reason="the extra [mcp] is not installed")

from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from quorum.serving.mcp_server import make_mcp_app

TOKEN = "the-key-of-this-server"
HEADERS = {"authorization": f"Bearer {TOKEN}"}
QUESTION, LAST_QUESTION = "When was it finished?", "Who else came?"
GIVEN: Any = [{"id": "towers", "title": "Towers", "text": "The Lumen Tower was finished in 1931."}]
SETTINGS: dict[str, Any] = {"model": "openai:test", "samples": 10, "temperature": 0.7, "concurrency": 1}
Leave = Callable[[str, OpenAIServer], Awaitable[None]]


async def leave_after_first_call(work: Awaitable[Any], model: OpenAIServer) -> None:
    """Start the work, and cancel it once a call has reached the model."""
    task = asyncio.ensure_future(work)
    await asyncio.to_thread(model.wait_for_requests, 1)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def post_and_leave(url: str, model: OpenAIServer, *, stream: bool) -> None:
    body = {"model": "concat", "messages": [{"role": "user", "content": QUESTION}], "stream": stream}
    async with httpx.AsyncClient(timeout=60, headers=HEADERS) as client:
        await leave_after_first_call(client.post(f"{url}/v1/chat/completions", json=body), model)


async def leave_without_a_stream(url: str, model: OpenAIServer) -> None:
    await post_and_leave(url, model, stream=False)


async def leave_a_stream(url: str, model: OpenAIServer) -> None:
    await post_and_leave(url, model, stream=True)


async def cancel_tool(url: str, model: OpenAIServer, mode: Any = "auto") -> None:
    """Cancel the call of an MCP tool; the client goes on."""
    async with (
        httpx2.AsyncClient(headers=HEADERS, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        await leave_after_first_call(client.call_tool("ask", {"question": QUESTION, "method": "concat"}), model)
        assert (await client.call_tool("methods")).structured_content


async def cancel_tool_in_session(url: str, model: OpenAIServer) -> None:
    await cancel_tool(url, model, "legacy")


async def end_session(url: str, model: OpenAIServer) -> None:
    """End an MCP session during a call."""

    async def call() -> None:
        async with (
            httpx2.AsyncClient(headers=HEADERS, timeout=60) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http), mode="legacy") as client,
        ):
            await client.call_tool("ask", {"question": QUESTION, "method": "concat"})

    await leave_after_first_call(call(), model)


async def drop_connection(url: str, model: OpenAIServer) -> None:
    """Close the connection of an MCP session during a call, without a word."""
    headers = HEADERS | {"accept": "application/json, text/event-stream"}
    start = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    async with httpx.AsyncClient(timeout=60, headers=headers) as client:
        request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": start}
        answer = await client.post(f"{url}/mcp", json=request)
        client.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        await client.post(f"{url}/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        arguments = {"name": "ask", "arguments": {"question": QUESTION, "method": "concat"}}
        request = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": arguments}
        await leave_after_first_call(client.post(f"{url}/mcp", json=request), model)


@pytest.mark.parametrize(
    "leave",
    [leave_without_a_stream, leave_a_stream, cancel_tool, cancel_tool_in_session, end_session, drop_connection],
)
async def test_a_client_that_leaves_stops_the_calls(leave: Leave, serve: Serve, openai_server: OpenAIServer) -> None:
    options = {"access_tokens": (TOKEN,), "make_other_app": make_mcp_app}
    api: Api = serve(**{**SETTINGS, **options})
    openai_server.reply(hold_all_but_the_last_question)
    await leave(api.url, openai_server)
    openai_server.release_held_replies()
    # The call of this question gets its turn after those that the first question still has.
    await asyncio.to_thread(api.ask, LAST_QUESTION, "concat", key=TOKEN)
    assert count_calls(openai_server) == 1


def hold_all_but_the_last_question(request: Any) -> Response:
    return Response("1931", hold=LAST_QUESTION not in request.text)


def count_calls(model: OpenAIServer) -> int:
    """How many calls the first question has made."""
    model.wait_idle()
    return len([request for request in model.chats() if LAST_QUESTION not in request.text])


async def answer_in_python(context: Context) -> None:
    await quorum.answer(QUESTION, "concat", context, given=GIVEN)


async def stream_in_python(context: Context) -> None:
    async for _ in quorum.stream(QUESTION, "concat", context, given=GIVEN):
        pass


async def invoke_graph(context: Context) -> None:
    await graph.ainvoke({"question": QUESTION, "given": GIVEN}, context=context)


async def stream_graph(context: Context) -> None:
    modes: Any = ["updates", "values", "messages"]
    async for _ in graph.astream({"question": QUESTION, "given": GIVEN}, None, context=context, stream_mode=modes):
        pass


@pytest.mark.parametrize("scope", ["asyncio", "anyio"])
@pytest.mark.parametrize("work", [answer_in_python, stream_in_python, invoke_graph, stream_graph])
async def test_cancelled_work_makes_no_further_call(
    work: Callable[[Context], Awaitable[None]], scope: str, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """anyio, which Starlette and FastAPI use, cancels again and again until the work has ended."""
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url)
    context = Context(**SETTINGS, journal="off")
    openai_server.reply(hold_all_but_the_last_question)
    if scope == "asyncio":
        await leave_after_first_call(work(context), openai_server)
    else:
        async with anyio.create_task_group() as group:
            group.start_soon(work, context)
            await asyncio.to_thread(openai_server.wait_for_requests, 1)
            group.cancel_scope.cancel()
    openai_server.release_held_replies()
    await quorum.answer(LAST_QUESTION, "concat", context, given=GIVEN)
    assert count_calls(openai_server) == 1


async def test_a_client_that_leaves_before_the_first_event_stops_the_run(store: Path) -> None:
    """A stream that nobody has begun to read does not run its own clean-up."""
    model = ScriptedModel().on("answer", "1931")
    context = Context(store=str(store), collection="towers", retriever="bm25", model=model)
    app = make_app(Service(Permissions(context)))
    body = {"model": "concat", "messages": [{"role": "user", "content": QUESTION}], "stream": True}
    received = iter(({"type": "http.request", "body": json.dumps(body).encode()}, {"type": "http.disconnect"}))

    async def receive() -> Any:
        return next(received)

    async def refuse_to_send(message: Any) -> None:
        raise OSError("the client has left")

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/chat/completions",
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"localhost")],
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
    }
    with pytest.raises((OSError, ExceptionGroup, ClientDisconnect)):
        await app(scope, receive, refuse_to_send)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert model.history == []


@pytest.mark.parametrize("leave", [cancel_tool, cancel_tool_in_session, end_session, drop_connection])
async def test_a_call_that_is_left_is_logged_with_what_it_took(
    leave: Leave, log: LogPipe, serve: Serve, openai_server: OpenAIServer
) -> None:
    openai_server.reply(Response("1931", hold=True))
    api = serve(**SETTINGS, access_tokens=(TOKEN,), make_other_app=make_mcp_app, log_file=str(log.path))
    await leave(api.url, openai_server)
    line = await asyncio.to_thread(log.read_until, tool="ask")
    assert (line["outcome"], line["status"], line["method"]) == ("stopped", 499, "concat")
    assert line["calls"] >= 0
    assert line["client"] == "owner"
    metrics = api.get("/metrics", **HEADERS).text
    assert 'quorum_client_questions_total{client="owner",outcome="stopped"} 1' in metrics
