"""The node `refine` of most methods: reorder the retrieved passages and shorten them before a prompt shows them.

rerank (if reranker is set) -> filter_context (if context_filter is set)
"""

from quorum.core.context import Context
from quorum.core.state import State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.context_filter import FilterInput, FilterOutput, context_filter
from quorum.graphs.parts.rerank_passages import rerank_passages
from quorum.nodes.routes import filter_if_chosen, rerank_or_filter


class RefinementInput(FilterInput, total=False):
    """The same as a filter's input."""


class RefinementOutput(FilterOutput, total=False):
    """The same as a filter's output."""


refinement = (
    MethodGraph(State, input_schema=RefinementInput, output_schema=RefinementOutput, context_schema=Context)
    .add_node("rerank", rerank_passages)
    .add_node("filter_context", context_filter)
    .add_conditional_edges("__start__", rerank_or_filter, ["rerank", "filter_context", "__end__"])
    .add_conditional_edges("rerank", filter_if_chosen, ["filter_context", "__end__"])
    .add_edge("filter_context", "__end__")
    .compile(name="refinement")
)
