"""Agents of a team: each has its own rights in `quorum mcp --http`, and is told its faults in the tools' words."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from api_server import Serve
from named_clients import SECRETS, TeamFile
from openai_server import OpenAIServer

pytest.importorskip("mcp", reason="the extra [mcp] is not installed")

from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from quorum.serving.errors import Refusal
from quorum.serving.mcp_messages import describe_for_agents
from quorum.serving.mcp_server import make_mcp_app

QUESTION = "When was the Lumen Tower finished?"
MODES: Any = ["auto", "legacy"]  # legacy: with a session


@asynccontextmanager
async def open_client(url: str, key: str, mode: Any = "auto") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def read_text(result: Any) -> str:
    """The text of a result; of an error without the words that the protocol's package puts before it."""
    text = "\n".join(item.text for item in result.content)
    return text.partition(": ")[2] if text.startswith("Error executing tool ") else text


@pytest.mark.parametrize("mode", MODES)
async def test_an_agent_gets_nothing_that_its_name_may_not_read(
    mode: str, tmp_path: Path, team_store: Path, serve: Serve, openai_server: OpenAIServer
) -> None:
    file = TeamFile(tmp_path / "tokens.json")
    key = file.add("alice", collections=("towers",), where="source=open.txt", methods=("concat",))
    api = serve(store=str(team_store), collections=("private",), token_file=file.path, make_other_app=make_mcp_app)
    openai_server.reply("1931")
    async with open_client(api.url, key, mode) as client:
        said = [str((await client.list_tools()).tools)]
        for tool, arguments in (
            ("collections", {}),
            ("methods", {}),
            ("search", {"query": "which number opens the vault or the safe"}),
            ("ask", {"question": QUESTION}),
            ("ask", {"question": QUESTION, "settings": {"where": "source=hidden.txt"}}),
            ("search", {"query": "vault", "where": "source!=x"}),
        ):
            said.append(str(await client.call_tool(tool, arguments)))
        refused = []
        for arguments in ({"collection": "private"}, {"method": "sure"}, {"method": "concat>sure"}):
            result = await client.call_tool("ask", {"question": QUESTION} | arguments)
            refused.append(read_text(result))
            assert result.is_error
        found = (await client.call_tool("search", {"query": "Lumen"})).structured_content["passages"]
        for address in ("private/passages/x", "towers/passages/hidden"):
            with pytest.raises(MCPError):
                await client.read_resource(f"quorum://{address}")
        assert "1931" in str(
            await client.read_resource(f"quorum://towers/passages/{found[0]['id']}".replace("#", "%23"))
        )
    assert [secret for secret in SECRETS if secret in "".join(said).replace("source=hidden.txt", "")] == []
    assert "1931" in said[4]
    assert refused[0] == "There is no collection 'private' here; the tool `collections` lists the names."
    assert refused[1:] == [
        f"There is no method {name!r} here; the tool `methods` lists the names." for name in ("sure", "concat>sure")
    ]


async def test_a_session_belongs_to_one_name_and_ends_with_its_token(tmp_path: Path, serve: Serve) -> None:
    file = TeamFile(tmp_path / "tokens.json")
    keys = {name: file.add(name) for name in ("alice", "bob")}
    api = serve(token_file=file.path, make_other_app=make_mcp_app)
    initialize = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}

    async def post(key: str, session: str | None, method: str, **params: Any) -> Any:
        headers = {"authorization": f"Bearer {keys[key]}", "accept": "application/json, text/event-stream"}
        headers |= {} if session is None else {"mcp-session-id": session}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        async with httpx2.AsyncClient(timeout=60) as http:
            return await http.post(f"{api.url}/mcp", json=body, headers=headers)

    session = (await post("alice", None, "initialize", **initialize)).headers["mcp-session-id"]
    assert (await post("alice", session, "tools/list")).status_code == 200
    assert (await post("bob", session, "tools/list")).status_code == 404
    file.change("alice", collections=())
    call = await post("alice", session, "tools/call", name="collections", arguments={})
    assert '"structuredContent":{}' in call.text.replace(" ", "")
    file.revoke("alice")
    assert (await post("alice", session, "tools/list")).status_code == 401


@pytest.mark.parametrize("nothing", [None, " "])
async def test_null_and_empty_arguments_mean_the_default(
    nothing: str | None, serve: Serve, openai_server: OpenAIServer
) -> None:
    api = serve(make_other_app=make_mcp_app)
    openai_server.reply("1931")
    async with open_client(api.url, "none") as client:
        more: dict[str, Any] = {"method": nothing, "collection": nothing, "settings": nothing}
        asked = await client.call_tool("ask", {"question": QUESTION, **more})
        assert asked.structured_content["answer"] == "1931"
        inside = await client.call_tool("ask", {"question": QUESTION, "settings": {"k": None, "where": None}})
        assert inside.structured_content["answer"] == "1931"
        search = await client.call_tool(
            "search", {"query": "harbour", "collection": nothing, "k": nothing, "where": nothing}
        )
        assert len(search.structured_content["passages"]) == 1
        for tool, argument in (("ask", "question"), ("search", "query")):
            refused = await client.call_tool(tool, {argument: nothing})
            assert read_text(refused) == f"The argument `{argument}` is empty; give a text."


async def test_faults_are_told_in_the_words_of_the_tools(tmp_path: Path, serve: Serve) -> None:
    api = serve(make_other_app=make_mcp_app, collections=("private",))
    faults: list[dict[str, Any]] = [
        {"collection": "nowhere"},
        {"method": "nothing"},
        {"settings": {"collection": "private"}},
        {"settings": {"k": "few"}},
        {"settings": {"model": "openai:dear"}},
        {"settings": {"where": "colour=red"}},
        {"method": "concat>"},
    ]
    async with open_client(api.url, "none") as client:
        told = [read_text(await client.call_tool("ask", {"question": QUESTION} | fault)) for fault in faults]
        told.append(read_text(await client.call_tool("search", {"query": "x", "where": "colour=red"})))
    for text in told:
        assert [word for word in ("--", "GET /", "/v1/", "quorum serve", "METHOD@") if word in text] == [], text
    assert told[0] == "There is no collection 'nowhere' here; the tool `collections` lists the names."
    assert told[2] == "Give `collection` as an argument of its own, not in `settings`."


def test_what_only_the_owner_can_do_is_not_told_to_agents() -> None:
    text = "The index of 'notes' was made by another model; give the one that it was made with: --embeddings SPEC."
    assert describe_for_agents(Refusal(400, text)) == (
        "The index of 'notes' was made by another model; whoever runs the server can mend this."
    )
