"""An agent (Li et al. 2025, section 3, the search loop): the model calls a search tool until it can answer.

agent_turn -> search_tool x c -> collect_observations -> agent_turn, and so on, until a turn calls no tool. When
`max_steps` calls are made, the model may call none. With the setting seed_search, the question itself is searched for
first.
"""

from quorum.core.context import MAX_SUPERSTEPS, Context
from quorum.core.state import Question, Result, State
from quorum.graphs.method_graph import MethodGraph
from quorum.graphs.parts.retrieve import retrieve
from quorum.graphs.parts.search_tool import search_tool
from quorum.nodes.agent import agent_turn, collect_observations, finish_agent, note_seed, open_document
from quorum.nodes.begin import begin
from quorum.nodes.routes import follow_tool_calls, search_first_if_set, shorten_or
from quorum.nodes.shorten import shorten_last_step

graph = (
    MethodGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
    .add_node(begin)
    .add_node(retrieve)
    .add_node(note_seed)
    .add_node(agent_turn)
    .add_node("search_tool", search_tool)
    .add_node(open_document)
    .add_node(collect_observations)
    .add_node("shorten", shorten_last_step)
    .add_node(finish_agent)
    .add_edge("__start__", "begin")
    .add_conditional_edges("begin", search_first_if_set, {"seed_search set": "retrieve", "no search yet": "agent_turn"})
    .add_edge("retrieve", "note_seed")
    .add_edge("note_seed", "agent_turn")
    .add_conditional_edges(
        "agent_turn",
        shorten_or(follow_tool_calls),
        {
            "each search": "search_tool",
            "each passage to open": "open_document",
            "no call to carry out": "collect_observations",
            "wordy": "shorten",
            "final answer": "finish_agent",
        },
    )
    .add_edge("search_tool", "collect_observations")
    .add_edge("open_document", "collect_observations")
    .add_edge("collect_observations", "agent_turn")
    .add_edge("shorten", "finish_agent")
    .add_edge("finish_agent", "find_evidence")
    .end_with_evidence()
    .compile(name="agent")
    .with_config(recursion_limit=MAX_SUPERSTEPS)
)
