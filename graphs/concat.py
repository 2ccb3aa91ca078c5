"""Concatenation (Liu et al. 2024, section 3.2.1, equation 1, figure 1a).

retrieve -> concat_answer
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.answer import concat_answer
from quorum.nodes.begin import begin

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(concat_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "concat_answer")
    .shorten_after("concat_answer")
    .end_with_evidence()
    .compile(name="concat")
)
