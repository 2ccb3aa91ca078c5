"""The node `rerank` of the subgraphs `retrieve` and `search_and_rerank` (Kim et al. 2024, table 4): it reorders the
passages, and keeps the best k.

use_query_as_question -> reorder (reranker=question) -> keep_best

With another value of the setting reranker, other nodes follow use_query_as_question. reranker=rationale: rationalize ->
reorder. reranker=summary: summarize_passages -> reorder. reranker=listwise: rank_window, repeated from the end of the
list of passages to its front. reranker=reader: score_pairs. All end with keep_best.
"""

from typing_extensions import TypedDict

from quorum.core.context import Context
from quorum.core.state import Counters, Passage, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.rationale import rationale
from quorum.nodes.rank_passages import rank_window
from quorum.nodes.reorder_passages import reorder, summarize_passages, use_query_as_question
from quorum.nodes.routes import choose_reranker, continue_windows, reorder_if_explained
from quorum.nodes.score_pairs import keep_best, score_pairs


class RerankInput(TypedDict, total=False):
    """query: the query that found the passages; null if the question was the query."""

    question: str
    query: str | None
    passages: list[Passage]


class RerankOutput(Counters, total=False):
    """The best k passages, best first."""

    passages: list[Passage]


rerank_passages = (
    MethodGraph(State, input_schema=RerankInput, output_schema=RerankOutput, context_schema=Context)
    .add_node(use_query_as_question)
    .add_node("rationalize", rationale)
    .add_node(summarize_passages)
    .add_node(rank_window)
    .add_node(reorder)
    .add_node(score_pairs)
    .add_node(keep_best)
    .add_edge("__start__", "use_query_as_question")
    .add_conditional_edges(
        "use_query_as_question",
        choose_reranker,
        {
            "by the question": "reorder",
            "by a rationale": "rationalize",
            "by a summary": "summarize_passages",
            "by a list": "rank_window",
            "by pairs": "score_pairs",
        },
    )
    .add_conditional_edges("rationalize", reorder_if_explained, {"rationale": "reorder", "no candidate": "keep_best"})
    .add_edge("summarize_passages", "reorder")
    .add_conditional_edges(
        "rank_window", continue_windows, {"windows left": "rank_window", "all windows ranked": "keep_best"}
    )
    .add_edge("reorder", "keep_best")
    .add_edge("score_pairs", "keep_best")
    .add_edge("keep_best", "__end__")
    .compile(name="reranking")
)
