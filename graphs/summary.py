"""The summary prompt (Liu et al. 2024, section 3.2.2, figure 9): summarize what is relevant, answer from the summary.

retrieve -> summarized_answer
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.refinement import refinement
from quorum.nodes.answer import summarized_answer
from quorum.nodes.begin import begin
from quorum.nodes.retrieve import retrieve
from quorum.nodes.routes import refine_or

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node("refine", refinement)
    .add_node(summarized_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_conditional_edges("retrieve", refine_or("summarized_answer"), ["refine", "summarized_answer"])
    .add_edge("refine", "summarized_answer")
    .add_edge("summarized_answer", "__end__")
    .compile(name="summary")
)
