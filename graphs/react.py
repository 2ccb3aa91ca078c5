"""ReAct (Yao et al. 2023, section 2, figure 1): thoughts and searches in turn.

think -> retrieve -> observe -> think, and so on, until a thought's action is to finish, or is to search although
`max_steps` searches are done. An action that cannot be read is asked for once more; if that fails, the method finishes.
"""

from quorum.core.context import MAX_SUPERSTEPS, Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.begin import begin
from quorum.nodes.react import ask_action, finish, observe, think
from quorum.nodes.routes import act_on_thought, search_or_finish, shorten_or
from quorum.nodes.shorten import shorten_last_step

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(think)
    .add_node(ask_action)
    .add_node(retrieve)
    .add_node(observe)
    .add_node("shorten", shorten_last_step)
    .add_node(finish)
    .add_edge("__start__", "begin")
    .add_edge("begin", "think")
    .add_conditional_edges(
        "think",
        shorten_or(act_on_thought),
        {"search": "retrieve", "no action": "ask_action", "wordy": "shorten", "final answer or limit": "finish"},
    )
    .add_conditional_edges(
        "ask_action",
        shorten_or(search_or_finish),
        {"search": "retrieve", "wordy": "shorten", "final answer or limit": "finish"},
    )
    .add_edge("shorten", "finish")
    .add_edge("retrieve", "observe")
    .add_edge("observe", "think")
    .add_edge("finish", "find_evidence")
    .end_with_evidence()
    .compile(name="react")
    .with_config(recursion_limit=MAX_SUPERSTEPS)
)
