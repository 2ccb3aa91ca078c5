"""Self-Ask (Press et al. 2023, section 3, figure 3): follow-up questions, each looked up and answered.

follow_up -> retrieve -> intermediate_answer -> follow_up ... -> conclude

If the model gives no final answer, forced_answer asks for one before conclude.
"""

from quorum.core.context import MAX_SUPERSTEPS, Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.begin import begin
from quorum.nodes.routes import (
    answer_follow_up_or_question,
    continue_follow_ups,
    search_or_conclude,
    shorten_if_wordy,
    shorten_or,
)
from quorum.nodes.self_ask import conclude, follow_up, forced_answer, intermediate_answer
from quorum.nodes.shorten import shorten_last_step

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(follow_up)
    .add_node(retrieve)
    .add_node(intermediate_answer)
    .add_node(forced_answer)
    .add_node("shorten", shorten_last_step)
    .add_node(conclude)
    .add_edge("__start__", "begin")
    .add_edge("begin", "follow_up")
    .add_conditional_edges(
        "follow_up",
        shorten_or(search_or_conclude),
        {"search": "retrieve", "wordy": "shorten", "final answer": "conclude", "no final answer": "forced_answer"},
    )
    .add_conditional_edges(
        "retrieve",
        answer_follow_up_or_question,
        {"found for a follow-up": "intermediate_answer", "found for the question": "forced_answer"},
    )
    .add_conditional_edges(
        "intermediate_answer", continue_follow_ups, {"may ask more": "follow_up", "limit reached": "forced_answer"}
    )
    .add_conditional_edges("forced_answer", shorten_if_wordy, {"wordy": "shorten", "not wordy": "conclude"})
    .add_edge("shorten", "conclude")
    .add_edge("conclude", "find_evidence")
    .end_with_evidence()
    .compile(name="self_ask")
    .with_config(recursion_limit=MAX_SUPERSTEPS)
)
