"""A reranker and a filter run between retrieval and reading, if they are set; otherwise nothing runs there."""

from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from method_fixtures import PASSAGES, QUESTION, make_runtime, script_passage_answers, trace_method

from quorum.core.context import Context
from quorum.core.state import Passage, State
from quorum.graphs import METHODS
from quorum.graphs.parts.refinement import refinement
from quorum.models.scripted import ScriptedModel
from quorum.nodes.routes import ask_passages, refine_or

READING_METHODS = [name for name in METHODS if name != "no_retrieval"]
SUBGRAPHS_OF_METHOD = {  # those that a method enters without a reranker or a filter
    "filco": {"filter_context"},
    "blendfilter": {"search_and_filter", "search_and_filter/filter_knowledge"},
    "self_verification": {"verify"},
}
FILTER_SETTING: dict[str, Any] = {"context_filter": "embedded"}
RERANKER_SETTING: dict[str, Any] = {"reranker": "question"}
FILTER_SUBGRAPHS, RERANKER_SUBGRAPHS = {"refine", "refine/filter_context"}, {"refine", "refine/rerank"}


async def list_entered_subgraphs(method: str, passages: list[Passage] = PASSAGES, **settings: Any) -> set[str]:
    """The subgraphs that a run of the method enters, each as the path of nodes to it, such as 'refine/rerank'."""
    inputs: Any = {"question": QUESTION, "given": passages}
    graph, context = METHODS[method].graph, Context(**settings)
    streamed_states = graph.astream(inputs, context=context, stream_mode="values", subgraphs=True)
    return {"/".join(step.partition(":")[0] for step in path) async for path, _ in streamed_states if path}


@pytest.mark.parametrize("method", READING_METHODS)
async def test_refinement_is_entered_only_with_a_reranker_or_a_filter(method: str) -> None:
    own_subgraphs = SUBGRAPHS_OF_METHOD.get(method, set())
    assert await list_entered_subgraphs(method) <= own_subgraphs
    assert await list_entered_subgraphs(method, **FILTER_SETTING) - own_subgraphs == list_expected_subgraphs(
        method, FILTER_SUBGRAPHS
    )
    assert await list_entered_subgraphs(method, **RERANKER_SETTING) - own_subgraphs == list_expected_subgraphs(
        method, RERANKER_SUBGRAPHS
    )


def list_expected_subgraphs(method: str, refine_subgraphs: set[str]) -> set[str]:
    """The subgraphs that a reranker or a filter adds to the method's own.

    refine_subgraphs: FILTER_SUBGRAPHS for a filter, RERANKER_SUBGRAPHS for a reranker; most methods enter just these.
    `blendfilter` also refines the passages of each query. `filco` has a filter of its own: there a filter adds no
    subgraph, and a reranker adds the subgraph `rerank`.
    """
    if method == "filco":
        return {"rerank"} if refine_subgraphs == RERANKER_SUBGRAPHS else set()
    return refine_subgraphs | {
        f"search_and_filter/{subgraph}" for subgraph in refine_subgraphs if method == "blendfilter"
    }


async def test_a_single_passage_is_not_reranked() -> None:
    assert await list_entered_subgraphs("base", PASSAGES[:1], **RERANKER_SETTING) == set()
    assert await list_entered_subgraphs("base", PASSAGES[:1], **RERANKER_SETTING, **FILTER_SETTING) == FILTER_SUBGRAPHS
    assert await list_entered_subgraphs("filco", PASSAGES[:1], **RERANKER_SETTING) == {"filter_context"}


async def test_passages_are_reranked_and_filtered_before_each_is_asked() -> None:
    model = (
        script_passage_answers("1931")
        .on("rank_passages", "[3] > [1] > [2]")
        .on("filter_sentences", PASSAGES[2]["text"])
    )
    assert (await trace_method("post_fusion", model, reranker="listwise", context_filter="llm"))[1:] == [
        ("retrieve", {"passages": "p1 p2 p3"}),
        ("refine", {"passages": "p3", "retrieved": ["p3", "p1", "p2"]}),
        ("passage_answer", {"votes": ["0 1931"]}),
        ("vote", {"answer": "1931", "unknown": False, "confidence": 1.0, "evidence": ["p3 33-37"]}),
    ]
    assert [sent.prompt_name for sent in model.history] == ["rank_passages", "filter_sentences", "answer"]


async def test_a_run_can_be_interrupted_to_replace_its_passages() -> None:
    graph = METHODS["concat"].graph.builder.compile(checkpointer=InMemorySaver(), interrupt_after=["retrieve"])
    thread, context = RunnableConfig(configurable={"thread_id": "1"}), Context()
    inputs: Any = {"question": QUESTION, "given": PASSAGES[:1]}
    await graph.ainvoke(inputs, thread, context=context)
    replacement = [Passage(id="o", title="", text="The Lumen Tower was finished in 1829.")]
    await graph.aupdate_state(thread, {"passages": replacement}, as_node="refine")
    assert (await graph.ainvoke(None, thread, context=context))["answer"] == "1829"


async def test_the_subgraph_changes_nothing_by_default() -> None:
    state: Any = {"question": QUESTION, "passages": PASSAGES}
    result = await refinement.ainvoke(state, context=Context(model=ScriptedModel()))
    assert (result["passages"], result.get("retrieved")) == (PASSAGES, None)


def test_refine_or_routes_to_refine_if_a_reranker_or_a_filter_is_set_else_to_the_next_step() -> None:
    state = State(question=QUESTION, passages=PASSAGES[:2])
    for next_step, expected in (("vote", "vote"), (ask_passages, ask_passages(state, make_runtime()))):
        route = refine_or(next_step)
        assert route(state, make_runtime()) == expected
        assert (
            route(state, make_runtime(reranker="question"))
            == route(state, make_runtime(context_filter="llm"))
            == "refine"
        )
    assert refine_or(ask_passages).__name__ == "refine_or_ask_passages"
