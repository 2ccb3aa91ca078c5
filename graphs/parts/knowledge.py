"""What one of several queries finds, and what of it helps; a subgraph, so that no query waits for another.

[no passages yet] retrieve -> filter -> collect
"""

from quorum.core.context import Context
from quorum.core.state import Gathered, Sought, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.knowledge_filter import knowledge_filter
from quorum.graphs.parts.refinement import refinement
from quorum.nodes.merge_passages import collect
from quorum.nodes.retrieve import retrieve
from quorum.nodes.routes import filter_or_collect, refine_or, search_unless_found

knowledge = (
    MethodGraph(State, input_schema=Sought, output_schema=Gathered, context_schema=Context)
    .add_node(retrieve)
    .add_node("refine", refinement)
    .add_node("filter", knowledge_filter)
    .add_node(collect)
    .add_conditional_edges("__start__", search_unless_found, ["retrieve", "filter", "collect"])
    .add_conditional_edges("retrieve", refine_or(filter_or_collect), ["refine", "filter", "collect"])
    .add_conditional_edges("refine", filter_or_collect, ["filter", "collect"])
    .add_edge("filter", "collect")
    .add_edge("collect", "__end__")
    .compile(name="knowledge")
)
