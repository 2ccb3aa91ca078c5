"""Finds and filters the passages of one of several queries. A subgraph, so that no query waits for another.

[no passages yet] retrieve -> filter -> collect_passages
"""

from typing import Annotated

from quorum.core.context import Context
from quorum.core.state import Counters, Passage, QueryPassages, State, append_items
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.knowledge_filter import KnowledgeFilterInput, knowledge_filter
from quorum.graphs.parts.refinement import RefinementInput, refinement
from quorum.nodes.merge_passages import collect_passages
from quorum.nodes.retrieve import retrieve
from quorum.nodes.routes import filter_or_collect, refine_or, search_unless_found


class GatherPassagesInput(RefinementInput, KnowledgeFilterInput, total=False):
    """given_passages: those that the question brings, which the query ranks; null: search the collection."""

    given_passages: list[Passage] | None


class GatherPassagesOutput(Counters, total=False):
    """passages_by_query: one item, the passages that this query found, after filtering."""

    passages_by_query: Annotated[list[QueryPassages], append_items]


gather_passages = (
    MethodGraph(State, input_schema=GatherPassagesInput, output_schema=GatherPassagesOutput, context_schema=Context)
    .add_node(retrieve)
    .add_node("refine", refinement)
    .add_node("filter", knowledge_filter)
    .add_node(collect_passages)
    .add_conditional_edges("__start__", search_unless_found, ["retrieve", "filter", "collect_passages"])
    .add_conditional_edges("retrieve", refine_or(filter_or_collect), ["refine", "filter", "collect_passages"])
    .add_conditional_edges("refine", filter_or_collect, ["filter", "collect_passages"])
    .add_edge("filter", "collect_passages")
    .add_edge("collect_passages", "__end__")
    .compile(name="gather_passages")
)
