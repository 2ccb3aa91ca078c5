"""What `retrieve` is in every graph: the question's passages, in the order and the length in which they are read.

search
"""

from langgraph.graph import StateGraph

from core.context import Context
from core.state import Asked, Found, State
from nodes.retrieve import retrieve

retrieval = (
    StateGraph(State, input_schema=Asked, output_schema=Found, context_schema=Context)
    .add_node("search", retrieve)
    .add_edge("__start__", "search")
    .add_edge("search", "__end__")
    .compile(name="passages")
)
