"""FILCO (Wang et al. 2023, section 2, figure 2): a filter keeps the helpful sentences, one prompt answers from them.

retrieve -> filter_context -> concat_answer
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.context_filter import context_filter
from quorum.graphs.parts.search_and_rerank import search_and_rerank
from quorum.nodes.answer import concat_answer
from quorum.nodes.begin import begin

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node("retrieve", search_and_rerank)
    .add_node("filter_context", context_filter)
    .add_node(concat_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "filter_context")
    .add_edge("filter_context", "concat_answer")
    .shorten_after("concat_answer")
    .end_with_evidence()
    .compile(name="filco")
)
