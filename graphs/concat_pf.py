"""Concatenation with post-fusion as the fallback (Liu et al. 2024, section 3.3, figure 2 top).

retrieve -> concat_answer -> unknown_check -> known: end | unknown: passage_answer x k -> vote
(speculative=true: both_rounds, which runs concat_answer and passage_answer x k at the same time;
vote=staged: passage_answer for a few passages at a time, until the vote is decided)
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.both_rounds import both_rounds
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.answer import concat_answer, passage_answer
from quorum.nodes.begin import begin
from quorum.nodes.routes import continue_vote, fall_back_if_unknown, start_one_or_both_rounds
from quorum.nodes.unknown import unknown_check
from quorum.nodes.vote import vote

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(concat_answer)
    .add_node("both_rounds", both_rounds)
    .add_node(unknown_check)
    .add_node(passage_answer)
    .add_node(vote)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_conditional_edges(
        "retrieve", start_one_or_both_rounds, {"first round": "concat_answer", "speculative": "both_rounds"}
    )
    .add_edge("both_rounds", "unknown_check")
    .shorten_after("concat_answer", then="unknown_check")
    .add_conditional_edges(
        "unknown_check",
        fall_back_if_unknown,
        {"known": "find_evidence", "unknown": "passage_answer", "none left to ask": "vote"},
    )
    .add_edge("passage_answer", "vote")
    .add_conditional_edges("vote", continue_vote, {"still undecided": "passage_answer", "decided": "find_evidence"})
    .end_with_evidence()
    .compile(name="concat_pf")
)
