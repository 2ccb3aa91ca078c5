"""The summary prompt (Liu et al. 2024, section 3.2.2, figure 9): summarize what is relevant, answer from the summary.

retrieve -> summarized_answer
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.answer import summarized_answer
from quorum.nodes.begin import begin

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(summarized_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "summarized_answer")
    .shorten_after("summarized_answer")
    .end_with_evidence()
    .compile(name="summary")
)
