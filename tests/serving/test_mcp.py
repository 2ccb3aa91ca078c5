"""The tools that `quorum mcp` offers to agents, called through a client of the Model Context Protocol: over stdio, with
the server as a process of its own, and over HTTP.
"""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from api_server import Serve
from log_pipe import LogPipe
from openai_bodies import make_error
from openai_server import OpenAIServer

pytest.importorskip("mcp", reason="the extra [mcp] is not installed")

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from quorum import Context, index
from quorum.serving.mcp_server import make_mcp_app

ROOT = Path(__file__).parents[2]
TOKEN = "the-key-of-this-mcp-server"
QUESTION = "When was the Lumen Tower finished?"
OFFLINE_SCRIPT = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
import conftest  # from here on this process can reach this machine only
from quorum.cli.main import main
main()
"""


@asynccontextmanager
async def open_stdio_client(store: Path, model: OpenAIServer, *more_args: str) -> AsyncIterator[Client]:
    """A client of `quorum mcp`, which runs as a process of its own and asks the test server `model`."""
    args = ["mcp", "--store", str(store), "--collection", "towers", "--model", "openai:test", "--retriever", "bm25"]
    args += more_args
    env = {"OPENAI_BASE_URL": model.url, "PYTHONPATH": str(ROOT), "LANGSMITH_TRACING": "false"}
    command = StdioServerParameters(command=sys.executable, args=["-c", OFFLINE_SCRIPT, *args], env=env)
    async with Client(command, read_timeout_seconds=120) as client:
        yield client


@asynccontextmanager
async def open_http_client(url: str, mode: Any = "auto") -> AsyncIterator[Client]:
    """A client of the server at this address, with the key. mode: how the client negotiates the protocol's version."""
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


async def use_tools(client: Client, model: OpenAIServer) -> None:
    """Do what an agent does: list the tools, call each of them, read a source, and make mistakes, which are refused."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"ask", "search", "collections", "methods"}
    assert "towers: 1 passage, with titles such as: Towers" in str(tools["ask"].description)
    assert set(tools["ask"].input_schema["properties"]) == {"question", "method", "collection", "settings"}
    assert set((await client.call_tool("collections")).structured_content) == {"towers"}
    assert "concat_pf" in (await client.call_tool("methods")).structured_content

    result = await client.call_tool("search", {"query": "harbour"})
    [passage] = result.structured_content["passages"]
    assert "harbour of Vell" in passage["text"]

    model.reply("1931")
    steps: list[str | None] = []

    async def record_step(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message)

    arguments = {"question": QUESTION, "method": "concat", "settings": {"k": 1}}
    answer = await client.call_tool("ask", arguments, progress_callback=record_step)
    assert not answer.is_error
    quote = "> The Lumen Tower was finished in **1931**."
    expected_start = f"1931\n\n{quote}\n\nSources:\n1. Towers (towers.jsonl, line 1):"
    assert answer.content[0].text.startswith(expected_start)  # type: ignore[union-attr]
    assert answer.structured_content["answer"] == "1931"
    assert steps[:3] == ["searching", "searching", "reading"]  # the last step may come with the answer
    [source] = (await client.read_resource(f"quorum://towers/passages/{passage['id']}")).contents
    assert "finished in 1931" in source.text  # type: ignore[union-attr]

    for invalid_argument in ({"collection": "private"}, {"method": "nothing"}, {"settings": {"store": "/etc"}}):
        refusal = await client.call_tool("ask", arguments | invalid_argument)
        assert refusal.is_error
    for uri_path in ("private/passages/private", "towers/passages/none", "towers/passages/..%2F..%2Fetc"):
        with pytest.raises(MCPError):
            await client.read_resource(f"quorum://{uri_path}")


@pytest.mark.long
async def test_an_agent_uses_the_tools_over_stdio(store: Path, openai_server: OpenAIServer, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    async with open_stdio_client(store, openai_server, "--log-file", str(log)) as client:
        await use_tools(client, openai_server)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["tool"], line["status"]) for line in lines][:4] == [
        *(("collections", 200), ("methods", 200), ("search", 200), ("ask", 200)),
    ]
    assert (lines[3]["method"], lines[3]["client"], lines[3]["calls"]) == ("concat", "local", 1)
    assert [line["status"] for line in lines if line["tool"] == "ask"] == [200, 404, 404, 400]


@pytest.mark.parametrize("mode", ["auto", "legacy"])  # legacy: a client that does not know `server/discover`
async def test_an_agent_uses_the_tools_over_http(mode: str, serve: Serve, openai_server: OpenAIServer) -> None:
    api = serve(access_tokens=(TOKEN,), make_other_app=make_mcp_app)
    async with open_http_client(api.url, mode) as client:
        await use_tools(client, openai_server)


async def test_a_passage_with_any_id_is_read_at_its_address(tmp_path: Path, serve: Serve) -> None:
    file, store = tmp_path / "rivers.jsonl", str(tmp_path / "store")
    file.write_text(json.dumps({"id": "docs/ü.md#2?", "title": "Orm", "text": "The Orm is a river."}), encoding="utf-8")
    index(file, collection="rivers", context=Context(store=store))
    api = serve(access_tokens=(TOKEN,), make_other_app=make_mcp_app, store=store, collection="rivers")
    async with open_http_client(api.url) as client:
        found = await client.call_tool("search", {"query": "river"})
        address = found.content[0].text.removeprefix("[").partition("]")[0]  # type: ignore[union-attr]
        [source] = (await client.read_resource(address)).contents
    assert source.text == "Orm\n\nThe Orm is a river."  # type: ignore[union-attr]


async def test_a_failure_is_reported_without_paths_of_the_server(serve: Serve, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(500, f"no space in /srv/secret at {openai_server.url}"))
    async with open_http_client(serve(access_tokens=(TOKEN,), make_other_app=make_mcp_app).url) as client:
        result = await client.call_tool("ask", {"question": QUESTION, "method": "concat"})
    assert result.is_error
    assert "no space in [hidden]" in result.content[0].text  # type: ignore[union-attr]
    assert "127.0.0.1" not in result.content[0].text  # type: ignore[union-attr]


async def test_limits_hold_for_agents_too(serve: Serve, openai_server: OpenAIServer) -> None:
    api = serve(access_tokens=(TOKEN,), make_other_app=make_mcp_app, questions_per_minute=1)
    async with open_http_client(api.url) as client:
        first = await client.call_tool("ask", {"question": QUESTION, "method": "concat"})
        second = await client.call_tool("search", {"query": "harbour"})
    assert (first.is_error, second.is_error) == (False, True)
    assert "1 time a minute" in second.content[0].text  # type: ignore[union-attr]


async def test_queries_and_bodies_are_bounded(serve: Serve) -> None:
    api = serve(access_tokens=(TOKEN,), make_other_app=make_mcp_app)
    async with open_http_client(api.url) as client:
        long_search = await client.call_tool("search", {"query": "x" * 20_001})
        assert long_search.is_error
        assert "more than 20,000 characters" in long_search.content[0].text  # type: ignore[union-attr]
        empty_search = await client.call_tool("search", {"query": " "})
        assert empty_search.is_error
    headers = {"authorization": f"Bearer {TOKEN}", "accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        refusal = await http.post(f"{api.url}/mcp", content=b"x" * 2_000_001)
        assert (refusal.status_code, refusal.json()["error"]["code"]) == (413, "request_too_large")
        with suppress(httpx2.TransportError):  # the server may close the connection before all is sent
            response = await http.post(f"{api.url}/mcp", content=send_in_parts())
            assert response.status_code >= 400


async def send_in_parts() -> AsyncIterator[bytes]:
    """The parts of a body of 3 MB, sent without a Content-Length header."""
    for _ in range(300):
        yield b"x" * 10_000


def test_a_request_for_tools_without_the_key_is_refused(serve: Serve) -> None:
    api = serve(access_tokens=(TOKEN,), make_other_app=make_mcp_app)
    assert api.get("/mcp").status_code == 401


def test_help_works_without_the_extra(quorum: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert quorum("mcp", "--help").code == 0
    run = quorum("mcp")
    assert run.code == 2
    assert "needs the extra [mcp]; run: pip install 'quorum-rag[mcp]'" in run.err


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_call_is_logged_with_its_real_outcome(
    mode: str, log: LogPipe, serve: Serve, openai_server: OpenAIServer
) -> None:
    api = serve(access_tokens=(TOKEN,), make_other_app=make_mcp_app, log_file=str(log.path))
    openai_server.reply("1931")
    async with open_http_client(api.url, mode) as client:
        await client.call_tool("ask", {"question": QUESTION, "method": "concat"})
        await client.call_tool("ask", {"question": QUESTION, "method": "nothing"})
        await client.call_tool("search", {"query": "harbour"})
        with pytest.raises(MCPError):
            await client.read_resource("quorum://towers/passages/none")
    lines = [log.read_until(tool=tool) for tool in ("ask", "ask", "search", "passage")]
    assert [(line["status"], line.get("code")) for line in lines] == [
        *((200, None), (404, "model_not_found"), (200, None), (404, "passage_not_found")),
    ]
    assert lines[1]["sent"] == 200  # a tool's error is a good response of the protocol
    assert (lines[0]["method"], lines[0]["calls"], lines[0]["client"]) == ("concat", 1, "owner")
    assert (lines[2]["method"], lines[2]["collection"]) == ("search", "towers")
    assert not any("Lumen" in str(line) or "harbour" in str(line) for line in lines)


async def test_a_damaged_store_is_told_to_the_agent_and_the_log(
    log: LogPipe, serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, store = tmp_path / "rivers.jsonl", tmp_path / "store"
    file.write_text(json.dumps({"id": "orm", "title": "Orm", "text": "The Orm is a river."}))
    index(file, collection="rivers", context=Context(store=str(store)))
    api = serve(
        access_tokens=(TOKEN,), make_other_app=make_mcp_app, store=str(store), collection=None, log_file=str(log.path)
    )
    async with open_http_client(api.url) as client:
        for database in store.rglob("*.sqlite3"):
            database.write_bytes(b"garbage" * 2000)
        listed = await client.call_tool("collections")
        with pytest.raises(MCPError) as failure:
            await client.read_resource("quorum://rivers/passages/orm")
    assert listed.is_error
    message = listed.content[0].text  # type: ignore[union-attr]
    assert message.endswith(str(failure.value))
    assert "store" in message.lower()
    assert str(tmp_path) not in message
    for tool in ("collections", "passage"):
        assert log.read_until(tool=tool)["status"] >= 400
    printed = capsys.readouterr().err
    assert "Traceback" not in printed, printed


async def test_a_missing_argument_is_named(serve: Serve) -> None:
    async with open_http_client(serve(access_tokens=(TOKEN,), make_other_app=make_mcp_app).url) as client:
        result = await client.call_tool("ask", {})
    assert result.is_error
    assert result.content[0].text == "ask needs the argument question."  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "option",
    [
        ("--token", "a-token-of-twenty-letters"),
        ("--tokens", "tokens.json"),
        ("--allow-origin", "https://chat.example.org"),
    ],
)
def test_access_over_stdio_is_refused(option: tuple[str, str], quorum: Any) -> None:
    run = quorum("mcp", *option)
    assert run.code == 2
    assert "add --http, or leave them out" in run.err
