"""Search and reranking without a filter: the passages in the order in which a method would read them.

search -> rerank (if reranker is set)
"""

from typing_extensions import TypedDict

from quorum.core.context import Context
from quorum.core.state import Counters, Passage, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.rerank_passages import rerank_passages
from quorum.nodes.routes import rerank_if_chosen
from quorum.nodes.search import search


class SearchInput(TypedDict, total=False):
    """query: what to search for; None: the question. search_text: what the search alone looks for, in place of both: a
    reranker and a filter still go by the query or the question. given_passages: passages to use in place of those in
    the collection.
    """

    question: str
    query: str | None
    search_text: str | None
    given_passages: list[Passage] | None


class SearchOutput(Counters, total=False):
    """The passages, best first."""

    passages: list[Passage]


search_and_rerank = (
    MethodGraph(State, input_schema=SearchInput, output_schema=SearchOutput, context_schema=Context)
    .add_node(search)
    .add_node("rerank", rerank_passages)
    .add_edge("__start__", "search")
    .add_conditional_edges("search", rerank_if_chosen, {"reranker set": "rerank", "no reranker": "__end__"})
    .add_edge("rerank", "__end__")
    .compile(name="passages")
)
