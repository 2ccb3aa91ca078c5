"""What `retrieve` is in every graph: the question's passages, in the order and the length in which they are read.

search -> reranker is set: rerank -> context_filter is set: filter_context
"""

from langgraph.graph import StateGraph

from core.context import Context
from core.state import Asked, Filtered, Found, State
from graphs.context_filter import context_filter
from graphs.reranking import reranking
from nodes.retrieve import retrieve
from nodes.routes import filter_if_chosen, rerank_if_chosen, rerank_or_filter

retrieval = (
    StateGraph(State, input_schema=Asked, output_schema=Filtered, context_schema=Context)
    .add_node("search", retrieve)
    .add_node("rerank", reranking)
    .add_node("filter_context", context_filter)
    .add_edge("__start__", "search")
    .add_conditional_edges("search", rerank_or_filter, ["rerank", "filter_context", "__end__"])
    .add_conditional_edges("rerank", filter_if_chosen, ["filter_context", "__end__"])
    .add_edge("filter_context", "__end__")
    .compile(name="passages")
)

# For a graph with a filter of its own.
unfiltered = (
    StateGraph(State, input_schema=Asked, output_schema=Found, context_schema=Context)
    .add_node("search", retrieve)
    .add_node("rerank", reranking)
    .add_edge("__start__", "search")
    .add_conditional_edges("search", rerank_if_chosen, ["rerank", "__end__"])
    .add_edge("rerank", "__end__")
    .compile(name="passages")
)
