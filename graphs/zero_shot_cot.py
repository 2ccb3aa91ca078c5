"""Zero-shot chain of thought (Kojima et al. 2022): SuRe's base prompt with a cue to reason step by step.

retrieve -> stepwise_answer
"""

from quorum.core.context import Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.base_prompt import stepwise_answer
from quorum.nodes.begin import begin

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(stepwise_answer)
    .add_edge("__start__", "begin")
    .add_edge("begin", "retrieve")
    .add_edge("retrieve", "stepwise_answer")
    .shorten_after("stepwise_answer")
    .end_with_evidence()
    .compile(name="zero_shot_cot")
)
