"""ITER-RETGEN (Shao et al. 2023, section 3, figure 2): retrieval and generation in turn.

retrieve -> cot_answer -> next_query -> retrieve ... (`iterations` rounds; the last round gives the answer)
"""

from quorum.core.context import MAX_SUPERSTEPS, Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.begin import begin
from quorum.nodes.iter_retgen import next_query
from quorum.nodes.reason import cot_answer
from quorum.nodes.routes import continue_rounds, shorten_or
from quorum.nodes.shorten import shorten

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(cot_answer)
    .add_node(shorten)
    .add_node(next_query)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "cot_answer")
    .add_conditional_edges(
        "cot_answer",
        shorten_or(continue_rounds),
        {"wordy": "shorten", "rounds left": "next_query", "last round": "find_evidence"},
    )
    .add_conditional_edges("shorten", continue_rounds, {"rounds left": "next_query", "last round": "find_evidence"})
    .add_edge("next_query", "retrieve")
    .end_with_evidence()
    .compile(name="iter_retgen")
    .with_config(recursion_limit=MAX_SUPERSTEPS)
)
