"""What `refine` is in every graph: what was found, in the order and the length in which it is read.

reranker is set: rerank -> context_filter is set: filter_context
"""

from quorum.core.context import Context
from quorum.core.state import Filtered, State, Unfiltered
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.context_filter import context_filter
from quorum.graphs.parts.rerank_passages import reranking
from quorum.nodes.routes import filter_if_chosen, rerank_or_filter

refinement = (
    MethodGraph(State, input_schema=Unfiltered, output_schema=Filtered, context_schema=Context)
    .add_node("rerank", reranking)
    .add_node("filter_context", context_filter)
    .add_conditional_edges("__start__", rerank_or_filter, ["rerank", "filter_context", "__end__"])
    .add_conditional_edges("rerank", filter_if_chosen, ["filter_context", "__end__"])
    .add_edge("filter_context", "__end__")
    .compile(name="refinement")
)
