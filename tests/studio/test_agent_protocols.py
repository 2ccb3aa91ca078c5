"""The agent protocols of `langgraph dev` itself: MCP at /mcp and A2A at /a2a/ASSISTANT. `quorum eval` can also compare
the server's assistants with Quorum's methods, like any system of a user's own.
"""

import ast
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from quorum_command import Quorum
from studio_server import Server

from quorum.graphs import METHODS

QUESTION, FOLLOW_UP = "Who designed the Eiffel Tower?", "How tall is it?"
PASSAGE = {"id": "vell", "title": "Vell", "text": "The lighthouse of Vell was built in 1874 by Ada Korn."}
# Question id -> (question, accepted answer).
QUESTIONS_AND_ANSWERS = {"1": ("Who built the lighthouse of Vell?", "Ada Korn"), "2": ("When was it built?", "1874")}


# The handshakes of the MCP client: "auto" tries the newer one first, "legacy" uses only the older one.
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_method_is_a_tool_of_the_servers_mcp_endpoint(mode: Any, server: Server) -> None:
    async with Client(streamable_http_client(f"{server.url}/mcp"), mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {*METHODS, "chat"}
        assert tools["concat"].description == f"Answer a question from documents. {METHODS['concat'].summary}"
        assert set(tools["concat"].input_schema["properties"]) == {"question", "given", "gold_answers"}
        arguments = {"question": QUESTIONS_AND_ANSWERS["1"][0], "given": [PASSAGE]}
        for name, inputs in (
            ("concat", arguments),
            ("chat", {"messages": QUESTIONS_AND_ANSWERS["1"][0], "given": [PASSAGE]}),
        ):
            result: Any = await client.call_tool(name, inputs)
            assert not result.is_error
            assert ast.literal_eval(result.content[0].text)["answer"] == "Ada Korn"  # Python's notation, not JSON
        error: Any = await client.call_tool("concat", {"question": ""})
        assert (error.is_error, error.content[0].text) == (True, "SetupError")


def fetch_card(server: Server, assistant: str) -> Any:
    """The agent card of A2A: it tells other agents what the assistant does."""
    return httpx.get(
        f"{server.url}/.well-known/agent-card.json", params={"assistant_id": assistant}, timeout=120
    ).json()


def send_message(server: Server, assistant: str, part: dict[str, Any], **more_fields: str) -> Any:
    """The JSON-RPC response to a message of one part. more_fields: further fields of the message."""
    message = {"role": "user", "kind": "message", "messageId": uuid4().hex, "parts": [part], **more_fields}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}
    headers = {"accept": "application/json"}
    return httpx.post(f"{server.url}/a2a/{assistant}", json=body, headers=headers, timeout=120).json()


def make_text_part(text: str) -> dict[str, Any]:
    return {"kind": "text", "text": text}


def read_artifact(response: Any) -> str:
    """The text of the assistant's answer. Fails unless the response says that the A2A task is completed."""
    assert response["result"]["status"]["state"] == "completed", response
    [artifact] = response["result"]["artifacts"]
    return "".join(part["text"] for part in artifact["parts"])


async def find_assistant(client: LangGraphClient, graph: str) -> str:
    [assistant] = [item for item in await client.assistants.search(graph_id=graph) if item["name"] == graph]
    return assistant["assistant_id"]


async def test_agents_converse_with_the_graph_chat_over_a2a(server: Server, client: LangGraphClient) -> None:
    chat = await find_assistant(client, "chat")
    response = send_message(server, chat, make_text_part(QUESTION))
    assert read_artifact(response) == "Gustave Eiffel"
    context_id = response["result"]["contextId"]
    assert read_artifact(send_message(server, chat, make_text_part(FOLLOW_UP), contextId=context_id)) == "330 metres"
    state: Any = await client.threads.get_state(context_id)
    assert "Eiffel Tower" in state["values"]["question"]
    card = fetch_card(server, chat)
    assert card["name"] == "chat"
    assert card["description"].startswith("Answer the last message of a conversation")


async def test_an_assistant_of_the_graph_chat_answers_by_its_method(server: Server, client: LangGraphClient) -> None:
    assistant = await client.assistants.create("chat", context={"method": "sure", "k": 3}, name="sure over the sample")
    try:
        response = send_message(server, assistant["assistant_id"], make_text_part(QUESTION))
        assert read_artifact(response)
        state: Any = await client.threads.get_state(response["result"]["contextId"])
        assert state["values"]["candidates"]
    finally:
        await client.assistants.delete(assistant["assistant_id"])


async def test_a_method_takes_its_input_over_a2a_as_data_but_not_as_text(
    server: Server, client: LangGraphClient
) -> None:
    concat = await find_assistant(client, "concat")
    response = send_message(server, concat, make_text_part(QUESTION))
    assert "must include a 'messages' field" in response["error"]["message"]
    data = {"kind": "data", "data": {"question": QUESTIONS_AND_ANSWERS["1"][0], "given": [PASSAGE]}}
    assert ast.literal_eval(read_artifact(send_message(server, concat, data)))["answer"] == "Ada Korn"


def test_an_assistant_can_be_compared_as_a_system(server: Server, quorum: Quorum) -> None:
    records = (
        {"id": id_, "question": question, "answers": [gold]} for id_, (question, gold) in QUESTIONS_AND_ANSWERS.items()
    )
    lines = (json.dumps(record | {"passages": [PASSAGE]}) for record in records)
    Path("questions.jsonl").write_text("\n".join(lines) + "\n")
    systems = f"mine=langgraph:{server.url}#concat,talk=langgraph:{server.url}#chat"
    run = quorum("eval", "questions.jsonl", "--methods", f"concat,{systems}", "--out", "results")
    assert run.code == 0, run.err
    rows = [json.loads(line) for line in Path("results/results.jsonl").read_text().splitlines()]
    assert {(row["method"], row["id"]): row["answer"] for row in rows} == {
        (method, id_): gold for method in ("concat", "mine", "talk") for id_, (_, gold) in QUESTIONS_AND_ANSWERS.items()
    }
    tokens = {row["method"]: row["input_tokens"] for row in rows if row["id"] == "1"}
    assert tokens["mine"] == tokens["talk"] == tokens["concat"] > 0


def test_an_assistant_that_is_not_there_stops_the_comparison(server: Server, quorum: Quorum) -> None:
    record = {"id": "1", "question": QUESTION, "answers": ["Gustave Eiffel"], "passages": [PASSAGE]}
    Path("questions.jsonl").write_text(json.dumps(record) + "\n")
    run = quorum("eval", "questions.jsonl", "--methods", f"mine=langgraph:{server.url}#none", "--out", "results")
    assert run.code == 2
    assert "The system 'mine' refuses every question (Invalid assistant: 'none'" in run.err
    assert "MINE_API_KEY" in run.err  # the variable that holds the key of the system `mine`
