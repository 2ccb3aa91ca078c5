"""What is found for a question, in the order in which it is read and before any filter, for no method in particular.

retrieve -> reranker is set: rerank
"""

from quorum.core.context import Context
from quorum.core.state import Asked, Found, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.rerank_passages import reranking
from quorum.nodes.retrieve import retrieve
from quorum.nodes.routes import rerank_if_chosen

unfiltered = (
    MethodGraph(State, input_schema=Asked, output_schema=Found, context_schema=Context)
    .add_node(retrieve)
    .add_node("rerank", reranking)
    .add_edge("__start__", "retrieve")
    .add_conditional_edges("retrieve", rerank_if_chosen, ["rerank", "__end__"])
    .add_edge("rerank", "__end__")
    .compile(name="passages")
)
