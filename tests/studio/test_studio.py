"""Every method as LangGraph Studio sees it: through the server of `langgraph dev`, which refuses blocking calls."""

import json
from dataclasses import fields
from typing import Any

import pytest
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk.client import LangGraphClient
from studio_server import ROOT, Server

from quorum.core.context import Context
from quorum.graphs import METHODS

QUESTION, NEXT_QUESTION = "Who designed the Eiffel Tower?", "In which city was helium first turned into a liquid?"
TOWER_PASSAGES = [
    {"id": "p1", "title": "Lumen Tower", "text": "The Lumen Tower was finished in 1931."},
    {"id": "p2", "title": "Iron Mast", "text": "The Iron Mast was painted in 1950."},
]
CHAT_MODEL_SETTINGS = {"model": "openai:test", "k": 2, "max_steps": 2}
each_method = pytest.mark.parametrize("method", METHODS)


async def find_assistant(client: LangGraphClient, method: str) -> str:
    (assistant,) = await client.assistants.search(graph_id=method)
    return assistant["assistant_id"]


async def stream_method(
    client: LangGraphClient, thread: str | None, method: str, **run_arguments: Any
) -> tuple[list[str], list[Any]]:
    """Run a method. Returns (the nodes in the order in which they ended, the pieces of messages).

    thread: the id of a thread, or None for a run without one. Raises an AssertionError if the run reports an error.
    """
    nodes: list[str] = []
    messages: list[Any] = []
    async for part in client.runs.stream(thread, method, stream_mode=["updates", "messages"], **run_arguments):
        if part.event == "error":
            raise AssertionError(f"{method}: {part.data}")
        if part.event == "updates":
            nodes += list(part.data)
        elif part.event.startswith("messages"):
            messages.append(part.data)
    return nodes, messages


async def get_values(client: LangGraphClient, thread: str) -> dict[str, Any]:
    state = await client.threads.get_state(thread)
    assert not state["next"]
    result: Any = state["values"]
    return dict(result)


async def test_every_method_is_served_and_no_other(client: LangGraphClient) -> None:
    assert {item["graph_id"] for item in await client.assistants.search(limit=100)} == {*METHODS, "chat"}


@each_method
async def test_studios_forms_hold_a_question_and_the_settings(client: LangGraphClient, method: str) -> None:
    schemas: Any = await client.assistants.get_schemas(await find_assistant(client, method))
    assert list(schemas["input_schema"]["properties"]) == ["question", "given", "gold_answers"]
    assert "answer" in schemas["output_schema"]["properties"]
    assert schemas["state_schema"]
    form = schemas["context_schema"]["properties"]
    assert list(form) == [part.name for part in fields(Context)]
    assert all(entry["description"] for entry in form.values())
    assert form["vote"]["enum"] == ["all", "staged"]
    assert (form["k"]["minimum"], form["k"]["maximum"], form["k"]["default"]) == (1, 1000, 5)
    assert form["model"]["type"] == form["retriever"]["type"] == form["embeddings"]["type"] == "string"


@each_method
async def test_studios_drawing_equals_the_graph(client: LangGraphClient, method: str) -> None:
    studios_graph: Any = await client.assistants.get_graph(await find_assistant(client, method))
    own_graph = METHODS[method].graph.get_graph()
    assert {node["id"] for node in studios_graph["nodes"]} == set(own_graph.nodes)
    assert {(edge["source"], edge["target"], edge.get("conditional", False)) for edge in studios_graph["edges"]} == {
        (edge.source, edge.target, edge.conditional) for edge in own_graph.edges
    }
    with_subgraphs: Any = await client.assistants.get_graph(await find_assistant(client, method), xray=True)
    assert len(with_subgraphs["nodes"]) >= len(studios_graph["nodes"])


@each_method
async def test_two_questions_on_one_thread_do_not_mix(client: LangGraphClient, method: str) -> None:
    thread = (await client.threads.create())["thread_id"]
    nodes, messages = await stream_method(client, thread, method, input={"question": QUESTION}, context={"k": 2})
    assert (nodes[0], bool(messages)) == ("begin", True)
    values = await get_values(client, thread)
    assert values["question"] == QUESTION
    assert values["usage"]
    next_run: dict[str, Any] = {"input": {"question": NEXT_QUESTION}, "context": {"k": 3, "retriever": "bm25"}}
    await stream_method(client, thread, method, **next_run)
    new_thread = (await client.threads.create())["thread_id"]
    await stream_method(client, new_thread, method, **next_run)
    values, new_values = await get_values(client, thread), await get_values(client, new_thread)
    # An inner key that the first question has left is emptied; on the new thread it is missing.
    assert {key for key in values.keys() - new_values if values[key]} == set()
    assert {key: values[key] for key in new_values} == new_values


@each_method
async def test_every_method_runs_with_given_passages_and_a_chat_model(
    client: LangGraphClient, server: Server, method: str
) -> None:
    count_before = len(server.model.chats())
    thread = (await client.threads.create())["thread_id"]
    nodes, messages = await stream_method(
        client, thread, method, input={"question": QUESTION, "given": TOWER_PASSAGES}, context=CHAT_MODEL_SETTINGS
    )
    assert nodes[0] == "begin"
    assert messages
    result = await get_values(client, thread)
    assert set(result["usage"]) >= set(result["malformed"])
    assert len(server.model.chats()) > count_before
    assert result["given_passages"] == TOWER_PASSAGES


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("concat", {"reranker": "rationale", "retriever": "chroma"}),
        ("concat", {"reranker": "question"}),
        ("concat", {"reranker": "listwise"}),
        ("concat", {"reranker": "summary"}),
        ("concat", {"context_filter": "embedded"}),
        ("concat", {"context_filter": "llm", "filter_mode": "psg"}),
        ("filco", {"filter_mode": "silver"}),
        ("concat_pf", {"speculative": True}),
        ("post_fusion", {"samples": 3, "temperature": 0.7}),
        ("post_fusion", {"vote": "staged"}),
        ("sure", {"ranking": "lazy", "verifier": "openai:test"}),
        ("sure", {"sure_parts": "summaries"}),
        ("sure", {"answer_type": "long"}),
        ("blendfilter", {"queries": "q+ex", "filter_turns": 1, "filter_union": True}),
        ("direct", {"retrieve": False}),
        ("cot", {"retrieve": False}),
        ("concat", {"journal": "off"}),
    ],
    ids=str,
)
async def test_no_setting_makes_a_method_block_the_server(
    client: LangGraphClient, method: str, settings: dict[str, Any]
) -> None:
    inputs = {"question": QUESTION, "gold_answers": ["Gustave Eiffel"]}
    nodes, _ = await stream_method(client, None, method, input=inputs, context={"k": 3} | settings)
    assert nodes[0] == "begin"


async def test_a_mistake_is_reported_in_one_sentence(client: LangGraphClient) -> None:
    for settings, message in (
        ({"k": 0}, "k=0"),
        ({"collection": "nowhere"}, "nowhere"),
        ({"model": "gpt"}, "openai:gpt"),
    ):
        with pytest.raises(AssertionError, match=message):
            await stream_method(client, None, "concat", input={"question": QUESTION}, context=settings)


async def test_a_run_stops_before_the_vote_and_goes_on_with_edited_votes(client: LangGraphClient) -> None:
    thread = (await client.threads.create())["thread_id"]
    run_arguments: dict[str, Any] = {"input": {"question": QUESTION}, "context": {"k": 3}}
    nodes, _ = await stream_method(client, thread, "post_fusion", **run_arguments, interrupt_before=["vote"])
    assert "vote" not in nodes
    state: Any = await client.threads.get_state(thread)
    assert state["next"] == ["vote"]
    edited_votes = [vote | {"answer": "Stephen Sauvestre", "unknown": False} for vote in state["values"]["votes"]]
    await client.threads.update_state(thread, {"votes": {"__overwrite__": edited_votes}}, as_node="passage_answer")
    nodes, _ = await stream_method(client, thread, "post_fusion", input=None, context={"k": 3})
    assert nodes == ["vote", "find_evidence"]
    result = await get_values(client, thread)
    assert (result["answer"], result["unknown"], result["confidence"]) == ("Stephen Sauvestre", False, 1.0)
    assert result["votes"] == edited_votes


async def test_long_loops_are_not_cut_short(client: LangGraphClient) -> None:
    passages = [TOWER_PASSAGES[0] | {"id": f"p{number}"} for number in range(30)]
    inputs = {"question": QUESTION, "given": passages}
    nodes, _ = await stream_method(client, None, "selection_inference", input=inputs, context={"k": 30})
    assert nodes.count("infer") == 30
    nodes, _ = await stream_method(
        client, None, "react", input={"question": QUESTION}, context=CHAT_MODEL_SETTINGS | {"max_steps": 20}
    )
    # 20 thoughts whose searches are made, and one whose search would exceed max_steps
    assert nodes.count("think") == 21


@pytest.mark.parametrize("method", ["concat_pf", "sure", "blendfilter", "react", "agent"])
async def test_a_served_method_is_a_remote_graph(client: LangGraphClient, method: str) -> None:
    remote = RemoteGraph(method, client=client)
    result: Any = await remote.ainvoke({"question": QUESTION}, context={"k": 2})
    assert set(result) >= {"answer", "unknown", "evidence", "passages", "usage"}
    assert set((await remote.aget_graph()).nodes) == set(METHODS[method].graph.get_graph().nodes)


def test_the_server_logs_no_blocking_call_and_no_outside_request(server: Server) -> None:
    """This test stands after those that use the server, because it reads the log that they leave."""
    log = server.log.read_text()
    assert "tests talk to this machine only" not in log  # the error of tests/conftest.py for a request to elsewhere
    assert "Blocking call" not in log
    assert "BlockingError" not in log


def test_langgraph_json_lists_the_module_of_every_method() -> None:
    graphs = json.loads((ROOT / "langgraph.json").read_text())["graphs"]
    paths = {name: graph["path"] for name, graph in graphs.items()}
    assert paths.pop("chat") == "quorum.graphs.conversation:graph"
    assert paths == {name: f"quorum.graphs.{name}:graph" for name in METHODS}
