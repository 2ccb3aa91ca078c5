"""SuRe without candidates (Kim et al. 2024, table 3, Sum-and-pred): a summary, then the answer from the summary alone.

retrieve -> summarize -> answer_from_summary
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.answer_from_candidates import answer_from_summary
from quorum.nodes.begin import begin
from quorum.nodes.summarize_candidate import summarize

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(summarize)
    .add_node(answer_from_summary)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "summarize")
    .add_edge("summarize", "answer_from_summary")
    .shorten_after("answer_from_summary")
    .end_with_evidence()
    .compile(name="sum_and_pred")
)
