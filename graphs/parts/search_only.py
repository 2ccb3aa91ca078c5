"""Searches and reranks as a method would, and answers nothing: what `--retrieval-only` compares.

begin -> retrieve
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.search_and_rerank import search_and_rerank
from quorum.nodes.begin import begin

search_only = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node("retrieve", search_and_rerank)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "__end__")
    .compile(name="search")
)
