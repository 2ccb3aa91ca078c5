"""The subgraph `retrieve` of all methods: search, then a reranker and a filter if they are set."""

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from method_fixtures import PASSAGES, QUESTION, make_runtime, script_passage_answers, trace_method

from quorum.core.context import Context
from quorum.core.state import Passage, State
from quorum.graphs import METHODS
from quorum.graphs.parts.retrieve import retrieve
from quorum.models.scripted import ScriptedModel
from quorum.nodes.routes import rerank_or_filter

READING_METHODS = [name for name in METHODS if name != "no_retrieval"]
SUBGRAPHS_OF_METHOD = {  # those that a method enters without a reranker or a filter, besides `retrieve`
    "filco": {"filter_context"},
    "blendfilter": {"search_and_filter", "search_and_filter/filter_knowledge", "search_and_filter/retrieve"},
    "self_verification": {"verify"},
    "agent": {"search_tool", "search_tool/retrieve"},
}
FILTER_SETTING: dict[str, Any] = {"context_filter": "embedded"}
RERANKER_SETTING: dict[str, Any] = {"reranker": "question"}


async def list_entered_subgraphs(method: str, passages: list[Passage] = PASSAGES, **settings: Any) -> set[str]:
    """The subgraphs that a run of the method enters, each as the path of nodes to it, such as 'retrieve/rerank'."""
    inputs: Any = {"question": QUESTION, "given": passages}
    graph, context = METHODS[method].graph, Context(**settings)
    streamed_states = graph.astream(inputs, context=context, stream_mode="values", subgraphs=True)
    return {"/".join(step.partition(":")[0] for step in path) async for path, _ in streamed_states if path}


@pytest.mark.parametrize("method", READING_METHODS)
async def test_a_reranker_and_a_filter_are_entered_only_if_they_are_set(method: str) -> None:
    own_subgraphs = {"retrieve"} | SUBGRAPHS_OF_METHOD.get(method, set())
    assert await list_entered_subgraphs(method) <= own_subgraphs
    added_filters = set() if method == "filco" else list_added_subgraphs(method, "filter")  # filco has its own filter
    assert await list_entered_subgraphs(method, **FILTER_SETTING) - own_subgraphs == added_filters
    added_rerankers = list_added_subgraphs(method, "rerank")
    assert await list_entered_subgraphs(method, **RERANKER_SETTING) - own_subgraphs == added_rerankers


def list_added_subgraphs(method: str, node: str) -> set[str]:
    """The subgraphs that a reranker or a filter adds. `blendfilter` also has them for the passages of each query."""
    if method == "agent":  # the model searches before anything else does
        return {f"search_tool/retrieve/{node}"}
    return {f"retrieve/{node}", *([f"search_and_filter/retrieve/{node}"] if method == "blendfilter" else [])}


async def test_a_single_passage_is_not_reranked() -> None:
    assert await list_entered_subgraphs("base", PASSAGES[:1], **RERANKER_SETTING) == {"retrieve"}
    assert await list_entered_subgraphs("base", PASSAGES[:1], **RERANKER_SETTING, **FILTER_SETTING) == {
        "retrieve",
        "retrieve/filter",
    }
    assert await list_entered_subgraphs("filco", PASSAGES[:1], **RERANKER_SETTING) == {"retrieve", "filter_context"}


async def test_passages_are_reranked_and_filtered_before_each_is_asked() -> None:
    model = (
        script_passage_answers("1931")
        .on("rank_passages", "[3] > [1] > [2]")
        .on("filter_sentences", PASSAGES[2]["text"])
    )
    assert (await trace_method("post_fusion", model, reranker="listwise", context_filter="llm"))[1:] == [
        ("retrieve", {"passages": "p3", "retrieved": ["p3", "p1", "p2"]}),
        ("passage_answer", {"votes": ["0 1931"]}),
        ("vote", {"answer": "1931", "unknown": False, "confidence": 1.0}),
        ("find_evidence", {"evidence": ["p3 33-37"]}),
    ]
    assert [sent.prompt_name for sent in model.history] == ["rank_passages", "filter_sentences", "answer"]


async def test_a_run_can_be_interrupted_to_replace_its_passages() -> None:
    graph = METHODS["concat"].graph.builder.compile(checkpointer=InMemorySaver(), interrupt_after=["retrieve"])
    thread, context = RunnableConfig(configurable={"thread_id": "1"}), Context()
    inputs: Any = {"question": QUESTION, "given": PASSAGES[:1]}
    await graph.ainvoke(inputs, thread, context=context)
    replacement = [Passage(id="o", title="", text="The Lumen Tower was finished in 1829.")]
    await graph.aupdate_state(thread, {"passages": replacement}, as_node="retrieve")
    assert (await graph.ainvoke(None, thread, context=context))["answer"] == "1829"


async def test_by_default_the_passages_stay_as_they_were_found() -> None:
    state: Any = {"question": QUESTION, "given_passages": PASSAGES}
    result = await retrieve.ainvoke(state, context=Context(model=ScriptedModel()))
    assert (result["passages"], result.get("retrieved")) == (PASSAGES, None)


def test_the_route_after_the_search_says_what_is_set() -> None:
    state = State(question=QUESTION, passages=PASSAGES[:2])
    assert rerank_or_filter(state, make_runtime()) == "neither set"
    assert rerank_or_filter(state, make_runtime(reranker="question")) == "reranker set"
    assert rerank_or_filter(state, make_runtime(context_filter="llm")) == "filter set"
    assert rerank_or_filter(state, make_runtime(reranker="question", context_filter="llm")) == "reranker set"
