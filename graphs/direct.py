"""Few-shot answering (Brown et al. 2020), over the passages or, with retrieve=false, from the model's memory.

(retrieve -> direct_answer) | direct_from_memory
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.begin import begin
from quorum.nodes.direct import direct_answer, direct_from_memory
from quorum.nodes.routes import retrieve_if_set

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(direct_answer)
    .add_node(direct_from_memory)
    .add_edge("__start__", "begin")
    .add_conditional_edges("begin", retrieve_if_set, {"with passages": "retrieve", "from memory": "direct_from_memory"})
    .add_edge("retrieve", "direct_answer")
    .shorten_after("direct_answer", "direct_from_memory")
    .end_with_evidence()
    .compile(name="direct")
)
