"""The node `retrieve` of every method that reads passages: finds them, reorders them and cuts them down.

search -> rerank (if reranker is set) -> filter (if context_filter is set)
"""

from quorum.core.context import Context
from quorum.core.state import State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.context_filter import FilterOutput, context_filter
from quorum.graphs.parts.rerank_passages import rerank_passages
from quorum.graphs.parts.search_and_rerank import SearchInput
from quorum.nodes.routes import filter_if_chosen, rerank_or_filter
from quorum.nodes.search import search


class RetrieveInput(SearchInput, total=False):
    """given_gold_answers: the gold answers, by which filter_mode=silver chooses. retrieved: ids of the passages that
    earlier searches for the same question found.
    """

    given_gold_answers: list[str] | None
    retrieved: list[str] | None


class RetrieveOutput(FilterOutput, total=False):
    """The same as a filter's output."""


retrieve = (
    MethodGraph(State, input_schema=RetrieveInput, output_schema=RetrieveOutput, context_schema=Context)
    .add_node(search)
    .add_node("rerank", rerank_passages)
    .add_node("filter", context_filter)
    .add_edge("__start__", "search")
    .add_conditional_edges(
        "search", rerank_or_filter, {"reranker set": "rerank", "filter set": "filter", "neither set": "__end__"}
    )
    .add_conditional_edges("rerank", filter_if_chosen, {"filter set": "filter", "no filter": "__end__"})
    .add_edge("filter", "__end__")
    .compile(name="retrieve")
)
