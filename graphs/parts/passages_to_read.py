"""Finds the passages that a method reads if it searches once: retrieves them, then reranks and filters them if the
settings say so. The question is not answered here.

begin -> retrieve -> refine (if the setting reranker or context_filter is set)
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.refinement import refinement
from quorum.nodes.begin import begin
from quorum.nodes.retrieve import retrieve
from quorum.nodes.routes import refine_or

passages_to_read = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node("refine", refinement)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_conditional_edges("retrieve", refine_or("__end__"), ["refine", "__end__"])
    .add_edge("refine", "__end__")
    .compile(name="passages_to_read")
)
