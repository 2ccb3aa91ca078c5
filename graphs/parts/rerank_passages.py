"""The node `rerank` of the subgraphs `retrieve` and `search_and_rerank` (Kim et al. 2024, table 4): it reorders the
passages.

use_query_as_question -> reorder (reranker=question)

With another value of the setting reranker, other nodes follow use_query_as_question. reranker=rationale: rationalize ->
reorder. reranker=summary: summarize_passages -> reorder. reranker=listwise: rank_window, repeated from the end of the
list of passages to its front.
"""

from typing_extensions import TypedDict

from quorum.core.context import Context
from quorum.core.state import Counters, Passage, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.rationale import rationale
from quorum.nodes.rank_passages import rank_window
from quorum.nodes.reorder_passages import reorder, summarize_passages, use_query_as_question
from quorum.nodes.routes import choose_reranker, continue_windows, reorder_if_explained


class RerankInput(TypedDict, total=False):
    """query: the query that found the passages; null if the question was the query."""

    question: str
    query: str | None
    passages: list[Passage]


class RerankOutput(Counters, total=False):
    """The passages, best first."""

    passages: list[Passage]


rerank_passages = (
    MethodGraph(State, input_schema=RerankInput, output_schema=RerankOutput, context_schema=Context)
    .add_node(use_query_as_question)
    .add_node("rationalize", rationale)
    .add_node(summarize_passages)
    .add_node(rank_window)
    .add_node(reorder)
    .add_edge("__start__", "use_query_as_question")
    .add_conditional_edges(
        "use_query_as_question",
        choose_reranker,
        {
            "by the question": "reorder",
            "by a rationale": "rationalize",
            "by a summary": "summarize_passages",
            "by a list": "rank_window",
        },
    )
    .add_conditional_edges("rationalize", reorder_if_explained, {"rationale": "reorder", "no candidate": "__end__"})
    .add_edge("summarize_passages", "reorder")
    .add_conditional_edges(
        "rank_window", continue_windows, {"windows left": "rank_window", "all windows ranked": "__end__"}
    )
    .add_edge("reorder", "__end__")
    .compile(name="reranking")
)
