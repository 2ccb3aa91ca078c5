"""Finds and filters the passages of one of several queries. A subgraph, so that no query waits for another.

retrieve -> filter_knowledge (unless filter_union is set) -> collect_passages. The query that is the question itself
skips retrieve, because the method has already retrieved its passages.
"""

from typing import Annotated

from quorum.core.context import Context
from quorum.core.state import Counters, QueryPassages, State, append_items
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.knowledge_filter import KnowledgeFilterInput, knowledge_filter
from quorum.graphs.parts.retrieve import RetrieveInput, retrieve
from quorum.nodes.merge_passages import collect_passages
from quorum.nodes.routes import filter_or_collect, search_unless_found


class PassagesOfQueryInput(RetrieveInput, KnowledgeFilterInput, total=False):
    """given_passages: the passages that come with the question, which are ranked by the query; None: the collection is
    searched.
    """


class PassagesOfQueryOutput(Counters, total=False):
    """passages_by_query: one item, the passages that this query found, after filtering."""

    passages_by_query: Annotated[list[QueryPassages], append_items]


passages_of_query = (
    MethodGraph(State, input_schema=PassagesOfQueryInput, output_schema=PassagesOfQueryOutput, context_schema=Context)
    .add_node(retrieve)
    .add_node("filter_knowledge", knowledge_filter)
    .add_node(collect_passages)
    .add_conditional_edges(
        "__start__",
        search_unless_found,
        {
            "nothing found yet": "retrieve",
            "filter each query": "filter_knowledge",
            "filter later or nothing": "collect_passages",
        },
    )
    .add_conditional_edges(
        "retrieve",
        filter_or_collect,
        {"filter each query": "filter_knowledge", "filter later or nothing": "collect_passages"},
    )
    .add_edge("filter_knowledge", "collect_passages")
    .add_edge("collect_passages", "__end__")
    .compile(name="passages_of_query")
)
