"""Finds the passages that a method reads if it searches once. The question is not answered here.

begin -> retrieve
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.begin import begin

passages_to_read = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "__end__")
    .compile(name="passages_to_read")
)
