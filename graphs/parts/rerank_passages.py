"""What `rerank` is in every graph: the same passages in a new order (Kim et al. 2024, table 4).

take_query -> question: reorder | rationale: rationalize -> reorder | summary: gist -> reorder
           -> listwise: rank_window, from the end to the front
"""

from quorum.core.context import Context
from quorum.core.state import Found, Ranked, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.rationale import rationale
from quorum.nodes.rank_passages import rank_window
from quorum.nodes.reorder_passages import gist, reorder, take_query
from quorum.nodes.routes import by_reranker, more_windows, reorder_if_explained

reranking = (
    MethodGraph(State, input_schema=Ranked, output_schema=Found, context_schema=Context)
    .add_node(take_query)
    .add_node("rationalize", rationale)
    .add_node(gist)
    .add_node(rank_window)
    .add_node(reorder)
    .add_edge("__start__", "take_query")
    .add_conditional_edges("take_query", by_reranker)
    .add_conditional_edges("rationalize", reorder_if_explained)
    .add_edge("gist", "reorder")
    .add_conditional_edges("rank_window", more_windows)
    .add_edge("reorder", "__end__")
    .compile(name="reranking")
)
