"""Retrieval and reranking without a method. They give the passages in the order in which a method would read them.

The context filter is not applied.

retrieve -> rerank (if reranker is set)
"""

from typing_extensions import TypedDict

from quorum.core.context import Context
from quorum.core.state import Counters, Passage, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.rerank_passages import rerank_passages
from quorum.nodes.retrieve import retrieve
from quorum.nodes.routes import rerank_if_chosen


class RetrievalInput(TypedDict, total=False):
    """query: what to search for; None: the question. given_passages: passages to use in place of those in the
    collection.
    """

    question: str
    query: str | None
    given_passages: list[Passage] | None


class RetrievalOutput(Counters, total=False):
    """The passages, best first."""

    passages: list[Passage]


retrieval = (
    MethodGraph(State, input_schema=RetrievalInput, output_schema=RetrievalOutput, context_schema=Context)
    .add_node(retrieve)
    .add_node("rerank", rerank_passages)
    .add_edge("__start__", "retrieve")
    .add_conditional_edges("retrieve", rerank_if_chosen, ["rerank", "__end__"])
    .add_edge("rerank", "__end__")
    .compile(name="passages")
)
