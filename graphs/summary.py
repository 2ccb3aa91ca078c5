"""Summary prompt (Liu et al. 2024, section 3.2.2, figure 9): sum up what bears on the question, answer from that.

retrieve -> summarized_answer
"""

from langgraph.graph import StateGraph

from core.context import Context
from core.state import Question, Result, State
from graphs.retrieval import retrieval
from nodes.answer import summarized_answer
from nodes.begin import begin

graph = (
    StateGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node("retrieve", retrieval)
    .add_node(summarized_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "summarized_answer")
    .add_edge("summarized_answer", "__end__")
    .compile(name="summary")
)
