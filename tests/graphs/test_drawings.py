"""The drawings of all graphs: closed, open by one level, and open in full. Every conditional edge says its reason."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from composed_fixtures import write_cascade
from langchain_core.runnables.graph import Edge, Graph

from quorum.graphs import METHODS
from quorum.graphs.composed import composed_graph
from quorum.graphs.conversation import conversation_graph
from quorum.graphs.conversation import graph as chat_graph
from quorum.graphs.drawing import close_repeated_subgraphs

DEPTHS: list[bool | int] = [False, 1, True]
# The cascade asks one method twice, so the names of all its subgraphs come twice.
KNOWN = {"test": "known"}
CASCADE_STAGES: list[Any] = [("concat", KNOWN, {"k": 1}), ("concat", KNOWN, {}), ("sure", None, {})]
GRAPHS: dict[str, Callable[[Path], Any]] = {
    **{name: lambda _, method=method: method.graph for name, method in METHODS.items()},
    "chat": lambda _: chat_graph,
    "conversation": lambda _: conversation_graph("blendfilter"),
    "cascade": lambda folder: composed_graph(write_cascade(folder, *CASCADE_STAGES)),
}


def find_unlabelled_edges(drawing: Graph) -> list[Edge]:
    return [edge for edge in drawing.edges if edge.conditional and not edge.data]


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", GRAPHS)
def test_every_graph_can_be_drawn_and_every_conditional_edge_says_why(
    name: str, depth: bool | int, tmp_path: Path
) -> None:
    drawing = GRAPHS[name](tmp_path).get_graph(xray=depth)
    assert find_unlabelled_edges(drawing) == []
    text = drawing.draw_mermaid()
    subgraphs = [line for line in text.splitlines() if line.startswith("\tsubgraph ")]
    assert len(set(subgraphs)) == len(subgraphs)
    assert bool(depth) >= bool(subgraphs)


@pytest.mark.parametrize("name", GRAPHS)
async def test_the_asynchronous_drawing_is_the_same(name: str, tmp_path: Path) -> None:
    graph = GRAPHS[name](tmp_path)
    assert (await graph.aget_graph(xray=True)).draw_mermaid() == graph.get_graph(xray=True).draw_mermaid()


def test_an_edge_without_a_reason_is_found() -> None:
    drawing = METHODS["concat_pf"].graph.get_graph()
    drawing.edges[-1] = drawing.edges[-1].copy(source="vote", target="begin")._replace(data=None, conditional=True)
    assert find_unlabelled_edges(drawing) == [Edge("vote", "begin", None, True)]


def test_concat_is_drawn_as_its_steps_and_shows_reranker_and_filter_once_when_open() -> None:
    graph = METHODS["concat"].graph
    steps = ["__start__", "begin", "retrieve", "concat_answer", "find_evidence", "__end__"]
    reasons = {
        ("concat_answer", "find_evidence"): "not wordy",
        ("concat_answer", "shorten"): "wordy",
        ("shorten", "find_evidence"): None,
        ("find_evidence", "__end__"): "no calibration",
        ("find_evidence", "abstain"): "calibration set",
        ("abstain", "__end__"): None,
    }
    edges = {(edge.source, edge.target): edge.data for edge in graph.get_graph().edges}
    assert edges == dict.fromkeys(pairwise(steps)) | reasons
    text = graph.get_graph(xray=True).draw_mermaid()
    assert [text.count(f"subgraph {name}\n") for name in ("retrieve", "rerank", "filter")] == [1, 1, 1]


def test_a_subgraph_that_comes_twice_is_open_in_its_outermost_place() -> None:
    drawing = METHODS["blendfilter"].graph.get_graph(xray=True)
    assert "retrieve:search" in drawing.nodes
    assert "search_and_filter:retrieve" in drawing.nodes
    edges = {(edge.source, edge.target): edge.data for edge in drawing.edges}
    assert edges["search_and_filter:__start__", "search_and_filter:retrieve"] == "nothing found yet"
    assert edges["search_and_filter:retrieve", "search_and_filter:collect_passages"] == "filter later or nothing"


def test_a_drawing_without_repeated_subgraphs_stays_as_it_is() -> None:
    drawing = METHODS["sure"].graph.get_graph(xray=True)
    closed_drawing = close_repeated_subgraphs(drawing)
    assert (closed_drawing.nodes, closed_drawing.edges) == (drawing.nodes, drawing.edges)
