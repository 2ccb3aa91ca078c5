"""SuRe's steps up to the choice of a candidate. The chosen candidate's summary is the rationale.

Kim et al. 2024, section 3.

With K candidates: propose_candidates -> summarize_candidate x K -> collect_summaries -> validate x K,
rank_pair x K(K-1) -> select_candidate
"""

from typing_extensions import TypedDict

from quorum.core.context import Context
from quorum.core.state import Counters, Passage, State
from quorum.graphs.method_graph import MethodGraph
from quorum.nodes.propose_candidates import propose_candidates
from quorum.nodes.rank_summaries import rank_pair
from quorum.nodes.routes import compare_for_rationale, summarize_each_candidate
from quorum.nodes.select_candidate import select_candidate
from quorum.nodes.summarize_candidate import collect_summaries, summarize_candidate
from quorum.nodes.validate_summary import validate


class RationaleInput(TypedDict, total=False):
    """question: the text with which the passages were searched: the user's question, or a query made from it."""

    question: str
    passages: list[Passage]


class RationaleOutput(Counters, total=False):
    """rationale: the summary of the chosen candidate; missing if there is no candidate."""

    rationale: str | None


rationale = (
    MethodGraph(State, input_schema=RationaleInput, output_schema=RationaleOutput, context_schema=Context)
    .add_node(propose_candidates)
    .add_node(summarize_candidate)
    .add_node(collect_summaries)
    .add_node(validate)
    .add_node(rank_pair)
    .add_node(select_candidate)
    .add_edge("__start__", "propose_candidates")
    .add_conditional_edges(
        "propose_candidates",
        summarize_each_candidate,
        {"each candidate": "summarize_candidate", "nothing to summarize": "select_candidate"},
    )
    .add_edge("summarize_candidate", "collect_summaries")
    .add_conditional_edges(
        "collect_summaries",
        compare_for_rationale,
        {"each candidate": "validate", "each pair": "rank_pair", "one candidate": "select_candidate"},
    )
    .add_edge("validate", "select_candidate")
    .add_edge("rank_pair", "select_candidate")
    .add_edge("select_candidate", "__end__")
    .compile(name="rationale")
)
