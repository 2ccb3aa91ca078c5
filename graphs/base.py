"""The base prompt: an answer of at most three words (Kim et al. 2024, section 4.1, listings 10 and 14).

retrieve -> base_answer
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.base_prompt import base_answer
from quorum.nodes.begin import begin

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(base_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "base_answer")
    .shorten_after("base_answer")
    .end_with_evidence()
    .compile(name="base")
)
