"""Few-shot answering (Brown et al. 2020), over the passages or, with retrieve=false, from the model's memory.

(retrieve -> direct_answer) | direct_from_memory
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.refinement import refinement
from quorum.nodes.begin import begin
from quorum.nodes.direct import direct_answer, direct_from_memory
from quorum.nodes.retrieve import retrieve
from quorum.nodes.routes import refine_or, retrieve_or_direct

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node("refine", refinement)
    .add_node(direct_answer)
    .add_node(direct_from_memory)
    .add_edge("__start__", "begin")
    .add_conditional_edges("begin", retrieve_or_direct, ["retrieve", "direct_from_memory"])
    .add_conditional_edges("retrieve", refine_or("direct_answer"), ["refine", "direct_answer"])
    .add_edge("refine", "direct_answer")
    .add_edge("direct_answer", "__end__")
    .add_edge("direct_from_memory", "__end__")
    .compile(name="direct")
)
