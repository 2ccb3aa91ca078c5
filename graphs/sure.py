"""SuRe, summarized retrieval (Kim et al. 2024, section 3, algorithm 1, figure 2).

retrieve -> propose_candidates -> summarize_candidate x K -> collect_summaries -> validate x K and rank_pair x K(K-1) ->
select_candidate

K is the number of candidates. "x K" means that the node runs once for each candidate, "x K(K-1)" once for each ordered
pair of candidates.

With ranking=lazy, rank_pair runs after select_candidate, and only if a comparison can still change the choice. With
sure_parts=summaries, answer_from_summaries replaces all nodes after collect_summaries.
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.graphs.parts.summaries_only import answer_from_summaries
from quorum.nodes.begin import begin
from quorum.nodes.propose_candidates import propose_sure_candidates
from quorum.nodes.rank_summaries import rank_pair
from quorum.nodes.routes import continue_comparisons, judge_summaries, summarize_candidates
from quorum.nodes.select_candidate import select_candidate
from quorum.nodes.summarize_candidate import collect_summaries, summarize_candidate
from quorum.nodes.validate_summary import validate

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node("propose_candidates", propose_sure_candidates)
    .add_node(summarize_candidate)
    .add_node(collect_summaries)
    .add_node(validate)
    .add_node(rank_pair)
    .add_node(select_candidate)
    .add_node(answer_from_summaries)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "propose_candidates")
    .add_conditional_edges(
        "propose_candidates",
        summarize_candidates,
        {"each candidate": "summarize_candidate", "nothing to summarize": "select_candidate"},
    )
    .add_edge("summarize_candidate", "collect_summaries")
    .add_conditional_edges(
        "collect_summaries",
        judge_summaries,
        {
            "each candidate": "validate",
            "each pair": "rank_pair",
            "one candidate": "select_candidate",
            "summaries only": "answer_from_summaries",
        },
    )
    .add_edge("validate", "select_candidate")
    .add_edge("rank_pair", "select_candidate")
    .add_conditional_edges(
        "select_candidate", continue_comparisons, {"still undecided": "rank_pair", "decided": "find_evidence"}
    )
    .add_edge("answer_from_summaries", "find_evidence")
    .end_with_evidence()
    .compile(name="sure")
)
