"""Zero-shot chain of thought (Kojima et al. 2022): the base prompt with a cue to reason step by step.

retrieve -> stepwise_answer
"""

from langgraph.graph import StateGraph

from core.context import Context
from core.state import Question, Result, State
from graphs.retrieval import retrieval
from nodes.base import stepwise_answer
from nodes.begin import begin

graph = (
    StateGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node("retrieve", retrieval)
    .add_node(stepwise_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "stepwise_answer")
    .add_edge("stepwise_answer", "__end__")
    .compile(name="zero_shot_cot")
)
