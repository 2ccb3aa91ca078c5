"""The pruning prompt (Liu et al. 2024, section 3.2.2, figure 8): rule out passages, answer from the rest.

retrieve -> pruned_answer
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.answer import pruned_answer
from quorum.nodes.begin import begin

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(pruned_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "pruned_answer")
    .shorten_after("pruned_answer")
    .end_with_evidence()
    .compile(name="pruning")
)
