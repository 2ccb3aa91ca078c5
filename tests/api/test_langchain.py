"""A method as LangChain's retriever and tool, and the examples of docs/serving.md."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import StateGraph
from openai_bodies import Response
from openai_server import OpenAIServer, Request

from quorum import Context, SetupError, answer, as_retriever, as_tool, index
from quorum.core.state import Question, Result, State
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.abstain import CALIBRATION_FILE_KIND
from quorum.nodes.answer import concat_answer
from quorum.nodes.begin import begin

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "serving.md").read_text(encoding="utf-8"), re.DOTALL)
TEXTS = {
    "vell": "The lighthouse of Vell was built by Ada Korn.",
    "ships": "The harbour has ships.",
    "tea": "Tea is hot.",
}
QUESTION = "Who built the lighthouse of Vell?"


@pytest.fixture
def store(tmp_path: Path) -> str:
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text)
    index([tmp_path / f"{name}.txt" for name in TEXTS], collection="towers", context=Context(store=str(tmp_path / "s")))
    return str(tmp_path / "s")


@pytest.mark.parametrize("settings", [{}, {"reranker": "question"}, {"context_filter": "embedded"}])
async def test_the_documents_are_what_the_method_reads(store: str, settings: dict[str, Any]) -> None:
    context = Context(store=store, collection="towers", k=2, **settings)
    documents = await as_retriever("concat", context).ainvoke(QUESTION)
    passages = (await answer(QUESTION, "concat", context))["passages"]
    assert [(document.id, document.page_content) for document in documents] == [
        (item["id"], item["text"]) for item in passages
    ]
    assert documents[0].metadata["title"] == "vell"


def make_own_graph() -> Any:
    return (
        StateGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
        .add_node(begin)
        .add_node("find", retrieve)
        .add_node(concat_answer)
        .add_edge("__start__", "begin")
        .add_edge("begin", "find")
        .add_edge("find", "concat_answer")
        .add_edge("concat_answer", "__end__")
    )


async def test_a_compiled_graph_of_the_users_own_is_a_retriever_and_a_tool(store: str) -> None:
    graph, context = make_own_graph().compile(name="mine"), Context(store=store, collection="towers", k=2)
    documents = await as_retriever(graph, context).ainvoke(QUESTION)
    assert [document.id for document in documents] == [
        document.id for document in await as_retriever("concat", context).ainvoke(QUESTION)
    ]
    tool = as_tool(graph, context)
    assert tool.description == "Answers a question from the documents of the collection 'towers'."
    assert (await tool.ainvoke({"question": QUESTION})).startswith("Ada Korn\n")


@pytest.mark.parametrize("make", [as_retriever, as_tool])
def test_what_is_neither_a_method_nor_a_compiled_graph_is_refused(make: Any) -> None:
    with pytest.raises(SetupError, match=r"but this is a StateGraph; compile it first: graph.compile\(name=...\)\."):
        make(make_own_graph())
    with pytest.raises(SetupError, match="asked by its name, such as 'concat', or as a compiled graph"):
        make(answer)


async def test_a_retriever_asks_for_no_answer(store: str, openai_server: OpenAIServer) -> None:
    context = Context(store=store, collection="towers", retriever="bm25", model="openai:test")
    assert await as_retriever("sure", context).ainvoke(QUESTION)
    assert openai_server.chats() == []


@pytest.mark.parametrize("method", ["concat", "iter_retgen"])
def test_a_retriever_does_not_apply_a_calibration(store: str, tmp_path: Path, method: str) -> None:
    calibration = {"kind": CALIBRATION_FILE_KIND, "method": "concat", "lowest_confidence": 0.5, "settings": {}}
    (tmp_path / "calibration.json").write_text(json.dumps(calibration))
    context = Context(store=store, collection="towers", calibration=str(tmp_path / "calibration.json"))
    assert as_retriever(method, context).invoke(QUESTION)[0].metadata["title"] == "vell"


@pytest.mark.parametrize("method", ["filco", "blendfilter", "iter_retgen"])
def test_methods_that_filter_or_search_again_return_the_passages_they_read(store: str, method: str) -> None:
    documents = as_retriever(method, Context(store=store, collection="towers", k=3)).invoke(QUESTION)
    assert "Ada Korn" in documents[0].page_content


def test_a_method_without_passages_is_no_retriever_and_an_unknown_method_no_tool() -> None:
    with pytest.raises(SetupError, match="'no_retrieval' reads no passages"):
        as_retriever("no_retrieval")
    with pytest.raises(SetupError, match="no method 'nothing'"):
        as_tool("nothing")


async def test_a_tool_that_finds_no_answer_says_what_was_searched(store: str) -> None:
    tool = as_tool("concat", Context(store=store, collection="towers"))
    call = {"name": tool.name, "args": {"question": "What is the salary of the mayor?"}, "id": "1", "type": "tool_call"}
    message = await tool.ainvoke(call)
    note = "Searched: the collection towers (3 passages)."
    assert message.content.splitlines()[:2] == ["unknown", note]
    assert message.artifact["search_note"] == note


async def test_a_tool_gives_the_answer_its_sources_and_the_result(store: str) -> None:
    tool = as_tool("concat", Context(store=store, collection="towers"), name="towers")
    assert "'towers'" in tool.description
    call: Any = {"name": "towers", "args": {"question": QUESTION}, "id": "1", "type": "tool_call"}
    for message in (tool.invoke(call), await tool.ainvoke(call)):
        assert message.content.splitlines()[:2] == ["Ada Korn", f"[vell] {TEXTS['vell']}"]
        assert len(message.content.splitlines()) == 1 + len(message.artifact["passages"])  # all that were read
        assert message.artifact["answer"] == "Ada Korn"


def reply_as_agent(request: Request) -> str | Response:
    """Reply as a model that calls the tool, and then repeats the first line of what the tool returned."""
    last_message = request.body["messages"][-1]
    if last_message["role"] == "tool":
        return f"The documents say: {last_message['content'].splitlines()[0]}"
    function = {"name": "ask_documents", "arguments": json.dumps({"question": last_message["content"]})}
    calls = [{"id": "1", "type": "function", "function": function}]
    return Response("", finish_reason="tool_calls", message={"content": None, "tool_calls": calls})


# The examples without those that need a running `quorum serve` (tests/docs/test_serving_page.py runs the httpx one)
# or langchain-mcp-adapters, which `make test` lacks.
RUNNABLE_EXAMPLES = [
    item
    for item in EXAMPLES
    if not any(word in item for word in ("OpenAI(base_url", "langchain_mcp_adapters", "import httpx"))
]


@pytest.mark.parametrize("script", RUNNABLE_EXAMPLES, ids=len)  # a case is named by its script's length
@pytest.mark.usefixtures("sample_vectors")
def test_the_examples_of_the_page_run(
    script: str, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    openai_server.reply(reply_as_agent)
    exec(compile(script, "serving.md", "exec"), {"__name__": "page"})
    output = capsys.readouterr().out
    # The example of `stream` prints the nodes that cast votes. The examples of the retriever and the agent print text
    # about Python.
    expected = "Tim Peters" if "gpt" in script else "Python" if "retriever" in script else "passage_answer"
    assert expected in output
