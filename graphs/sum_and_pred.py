"""A generic summary, and the answer from it alone: SuRe without candidates (Kim et al. 2024, table 3, Sum-and-pred).

retrieve -> summarize -> answer_from_summary
"""

from langgraph.graph import StateGraph

from core.context import Context
from core.state import Question, Result, State
from graphs.refinement import refinement
from nodes.answer_candidates import answer_from_summary
from nodes.begin import begin
from nodes.retrieve import retrieve
from nodes.routes import refine_or
from nodes.summarize_candidate import summarize

graph = (
    StateGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node("refine", refinement)
    .add_node(summarize)
    .add_node(answer_from_summary)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_conditional_edges("retrieve", refine_or("summarize"), ["refine", "summarize"])
    .add_edge("refine", "summarize")
    .add_edge("summarize", "answer_from_summary")
    .add_edge("answer_from_summary", "__end__")
    .compile(name="sum_and_pred")
)
