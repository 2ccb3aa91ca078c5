"""Multiple choice among candidates: SuRe without summaries (Kim et al. 2024, table 3 and section A.7).

retrieve -> propose_candidates -> several: answer_from_choices | one or none: select_candidate
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.answer_from_candidates import answer_from_choices
from quorum.nodes.begin import begin
from quorum.nodes.propose_candidates import propose_short_answers
from quorum.nodes.routes import choose_if_candidates_differ
from quorum.nodes.select_candidate import select_candidate

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node("propose_candidates", propose_short_answers)
    .add_node(answer_from_choices)
    .add_node(select_candidate)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "propose_candidates")
    .add_conditional_edges(
        "propose_candidates",
        choose_if_candidates_differ,
        {"several candidates": "answer_from_choices", "at most one candidate": "select_candidate"},
    )
    .add_edge("answer_from_choices", "find_evidence")
    .add_edge("select_candidate", "find_evidence")
    .end_with_evidence()
    .compile(name="mcq")
)
