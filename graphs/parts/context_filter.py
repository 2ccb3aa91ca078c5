"""A context filter (Wang et al. 2023, FILCO, figure 2 left): the passages, cut down to what helps with the question.

filter_by_model | filter_by_prompt | filter_by_answers | nothing to filter: end
"""

from quorum.core.context import Context
from quorum.core.state import Filtered, State, Unfiltered
from quorum.graphs.method_graph import MethodGraph
from quorum.nodes.filter_context import filter_by_answers, filter_by_model, filter_by_prompt
from quorum.nodes.routes import how_to_filter

context_filter = (
    MethodGraph(State, input_schema=Unfiltered, output_schema=Filtered, context_schema=Context)
    .add_node(filter_by_model)
    .add_node(filter_by_prompt)
    .add_node(filter_by_answers)
    .add_conditional_edges(
        "__start__", how_to_filter, ["filter_by_model", "filter_by_prompt", "filter_by_answers", "__end__"]
    )
    .add_edge("filter_by_model", "__end__")
    .add_edge("filter_by_prompt", "__end__")
    .add_edge("filter_by_answers", "__end__")
    .compile(name="context_filter")
)
