"""SuRe up to its choice, for the rationale alone (Kim et al. 2024, section 3): the chosen candidate's summary.

propose_candidates -> summarize_candidate x K -> collect_summaries -> validate x K, rank_pair x K(K-1) -> select
"""

from quorum.core.context import Context
from quorum.core.state import Explained, Ranked, State
from quorum.graphs.method_graph import MethodGraph
from quorum.nodes.propose_candidates import propose_candidates
from quorum.nodes.rank_summaries import rank_pair
from quorum.nodes.routes import compare_for_rationale, each_candidate_for_rationale
from quorum.nodes.select_candidate import select
from quorum.nodes.summarize_candidate import collect_summaries, summarize_candidate
from quorum.nodes.validate_summary import validate

rationale = (
    MethodGraph(State, input_schema=Ranked, output_schema=Explained, context_schema=Context)
    .add_node(propose_candidates)
    .add_node(summarize_candidate)
    .add_node(collect_summaries)
    .add_node(validate)
    .add_node(rank_pair)
    .add_node(select)
    .add_edge("__start__", "propose_candidates")
    .add_conditional_edges("propose_candidates", each_candidate_for_rationale, ["summarize_candidate", "select"])
    .add_edge("summarize_candidate", "collect_summaries")
    .add_conditional_edges("collect_summaries", compare_for_rationale, ["validate", "rank_pair", "select"])
    .add_edge("validate", "select")
    .add_edge("rank_pair", "select")
    .add_edge("select", "__end__")
    .compile(name="rationale")
)
