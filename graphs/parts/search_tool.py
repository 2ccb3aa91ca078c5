"""The node `search_tool` of the method agent: one search that the model asked for. A subgraph, so that no search waits
for another.

retrieve -> collect_passages
"""

from typing import Annotated

from quorum.core.context import Context
from quorum.core.state import Counters, QueryPassages, State, append_items
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import RetrieveInput, retrieve
from quorum.nodes.merge_passages import collect_passages


class SearchToolInput(RetrieveInput, total=False):
    """rank: the number of the call in its turn, from 0."""

    rank: int


class SearchToolOutput(Counters, total=False):
    """passages_by_query: one item, the passages that this search found."""

    passages_by_query: Annotated[list[QueryPassages], append_items]


search_tool = (
    MethodGraph(State, input_schema=SearchToolInput, output_schema=SearchToolOutput, context_schema=Context)
    .add_node(retrieve)
    .add_node(collect_passages)
    .add_edge("__start__", "retrieve")
    .add_edge("retrieve", "collect_passages")
    .add_edge("collect_passages", "__end__")
    .compile(name="search_tool")
)
