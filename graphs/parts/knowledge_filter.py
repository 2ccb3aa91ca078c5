"""Passages -> those that help to answer the question (Wang et al. 2024, section 3.3), for any graph.

judge -> choose (filter_turns=1: judge_and_choose)
"""

from quorum.core.context import Context
from quorum.core.state import Filtered, Sifted, State
from quorum.graphs.method_graph import MethodGraph
from quorum.nodes.filter_passages import choose, judge, judge_and_choose
from quorum.nodes.routes import one_or_two_turns

knowledge_filter = (
    MethodGraph(State, input_schema=Sifted, output_schema=Filtered, context_schema=Context)
    .add_node(judge)
    .add_node(choose)
    .add_node(judge_and_choose)
    .add_conditional_edges("__start__", one_or_two_turns, ["judge", "judge_and_choose"])
    .add_edge("judge", "choose")
    .add_edge("choose", "__end__")
    .add_edge("judge_and_choose", "__end__")
    .compile(name="knowledge_filter")
)
