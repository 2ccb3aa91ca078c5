"""Self-verification (Weng et al. 2023, as in Kim et al. 2024, section 4.1).

retrieve -> sample_answers -> at most one answer: choose_verified | several: verify each -> choose_verified
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.graphs.parts.verification import verification
from quorum.nodes.begin import begin
from quorum.nodes.routes import verify_if_candidates_differ
from quorum.nodes.self_verification import choose_verified, sample_answers

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(sample_answers)
    .add_node("verify", verification)
    .add_node(choose_verified)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "sample_answers")
    .add_conditional_edges(
        "sample_answers",
        verify_if_candidates_differ,
        {"each candidate": "verify", "at most one candidate": "choose_verified"},
    )
    .add_edge("verify", "choose_verified")
    .add_edge("choose_verified", "find_evidence")
    .end_with_evidence()
    .compile(name="self_verification")
)
