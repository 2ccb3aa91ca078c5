"""Selection-inference (Creswell et al. 2022, as in Kim et al. 2024, section 4.1): rank, then read each passage.

retrieve -> rank_passages -> infer, for one passage after the other, best first
"""

from quorum.core.context import MAX_SUPERSTEPS, Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.begin import begin
from quorum.nodes.infer_stepwise import infer
from quorum.nodes.rank_passages import rank_passages
from quorum.nodes.routes import continue_reading

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(rank_passages)
    .add_node(infer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "rank_passages")
    .add_edge("rank_passages", "infer")
    .add_conditional_edges("infer", continue_reading, {"passages left": "infer", "all read": "find_evidence"})
    .end_with_evidence()
    .compile(name="selection_inference")
    .with_config(recursion_limit=MAX_SUPERSTEPS)
)
