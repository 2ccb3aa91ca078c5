"""A client of a server filters by metadata, within what the server lets it find."""

import json
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from api_server import Serve
from openai_server import OpenAIServer

from quorum import Context, index
from quorum.serving.openapi import describe_api
from quorum.serving.permissions import Permissions

QUESTION = "Which mast stands in Vell?"
TOKEN = "the-key-of-this-mcp-server"
LINES = [
    {
        "id": str(year),
        "title": f"Masts {year}",
        "text": f"The mast of {year} stands in Vell.",
        "metadata": {"year": year},
    }
    for year in (2020, 2022, 2024)
]


@pytest.fixture
def masts(tmp_path: Path, serve: Serve) -> Any:
    """A function that starts a server over three passages."""
    file, store = tmp_path / "masts.jsonl", str(tmp_path / "store")
    file.write_text("\n".join(map(json.dumps, LINES)))
    index(file, collection="masts", context=Context(store=store))
    return lambda **options: serve(store=store, collection="masts", **options)


def test_a_client_narrows_what_the_server_lets_it_find(masts: Any, openai_server: OpenAIServer) -> None:
    api = masts(where="year<=2022")
    found = []
    for where in (None, "year>=2022", {"year": {"$gte": 2020}}, {"$or": [{"year": 2020}, {"year": 2024}]}):
        openai_server.reply("unknown")
        completion = api.ask(QUESTION, extra_body={"quorum": {} if where is None else {"where": where}})
        found.append([passage["metadata"]["year"] for passage in completion.quorum["passages"]])
    assert found == [[2020, 2022], [2022], [2020, 2022], [2020]]
    for where, words in (("year=2024", "passes where year<=2022 and year=2024"), ("colour=red", "the keys are: ")):
        with pytest.raises(openai.BadRequestError, match=words):
            api.ask(QUESTION, extra_body={"quorum": {"where": where}})
    assert len(openai_server.chats()) == 4


def test_a_cascade_that_a_client_writes_narrows_it_too(masts: Any, openai_server: OpenAIServer) -> None:
    api = masts(where="year<=2022")
    for brackets, years in (("", [2020, 2022]), ("[where=year>=2000]", [2020, 2022]), ("[where=year>=2022]", [2022])):
        openai_server.reply("unknown")
        completion = api.ask(
            QUESTION, model=f"concat{brackets}>concat{brackets.replace(']', ';seed=2]') or '[seed=2]'}"
        )
        assert [passage["metadata"]["year"] for passage in completion.quorum["passages"]] == years


def test_the_description_of_the_api_lists_it() -> None:
    api = describe_api(Permissions(Context()))
    schema: Any = api["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    where = schema["properties"]["quorum"]["properties"]["where"]
    assert {kind["type"] for kind in where["anyOf"]} == {"string", "object", "array", "null"}
    assert "by their metadata" in where["description"]


async def test_agents_filter_and_read_only_what_the_server_lets_them(masts: Any, openai_server: OpenAIServer) -> None:
    pytest.importorskip("mcp", reason="the extra [mcp] is not installed")
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.exceptions import MCPError

    from quorum.serving.mcp_server import make_mcp_app

    api = masts(where="year<=2022", access_tokens=(TOKEN,), make_other_app=make_mcp_app)
    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {TOKEN}"}, timeout=60) as http,
        Client(streamable_http_client(f"{api.url}/mcp", http_client=http)) as client,
    ):
        found = await client.call_tool("search", {"query": "mast", "where": "year>=2022"})
        assert [passage["id"] for passage in found.structured_content["passages"]] == ["2022"]
        refused = await client.call_tool("search", {"query": "mast", "where": "colour=red"})
        assert refused.is_error
        assert "the keys are: " in refused.content[0].text
        openai_server.reply("unknown")
        asked = await client.call_tool(
            "ask", {"question": QUESTION, "method": "concat", "settings": {"where": {"year": 2020}}}
        )
        assert [passage["id"] for passage in asked.structured_content["passages"]] == ["2020"]
        [description] = (await client.call_tool("collections")).structured_content.values()
        assert "2 passages" in description
        assert "2024" not in description
        with pytest.raises(MCPError):
            await client.read_resource("quorum://masts/passages/2024")
        assert (await client.read_resource("quorum://masts/passages/2022")).contents
