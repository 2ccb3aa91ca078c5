"""A conversation: a follow-up question becomes one that stands alone, and any method answers it.

begin_turn -> with earlier turns: stand_alone -> the method -> end_turn | without: the method -> end_turn
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from quorum.core.context import MAX_SUPERSTEPS, Context
from quorum.core.conversation import ConversationInput, ConversationResult, ConversationState, read_history
from quorum.core.state import Question
from quorum.graphs.find_method import find_method
from quorum.graphs.method_graph import MethodGraph
from quorum.nodes.ask_method import ChatContext, make_method_node
from quorum.nodes.begin_turn import begin_turn, end_turn
from quorum.nodes.routes import rewrite_follow_up
from quorum.nodes.stand_alone import stand_alone


def build_conversation_graph(name: str, method_node: str, method: Any, context_schema: type[Context]) -> Any:
    """The compiled graph of a conversation that asks a method.

    name: the graph's name. method: a compiled graph, or a node function that runs one. It becomes the node with the
    name `method_node`.
    """
    builder: Any = MethodGraph(
        ConversationState,
        input_schema=ConversationInput,
        output_schema=ConversationResult,
        context_schema=context_schema,
    )
    return (
        builder.add_node(begin_turn)
        .add_node(stand_alone)
        .add_node(method_node, method)
        .add_node(end_turn)
        .add_edge("__start__", "begin_turn")
        .add_conditional_edges(
            "begin_turn", rewrite_follow_up, {"follow-up question": "stand_alone", "first question": method_node}
        )
        .add_edge("stand_alone", method_node)
        .add_edge(method_node, "end_turn")
        .add_edge("end_turn", "__end__")
        .compile(name=name)
        .with_config(recursion_limit=MAX_SUPERSTEPS)
    )


@lru_cache(maxsize=64)
def conversation_graph(method: Any) -> Any:
    """The graph that answers the last message of a conversation. method: the name of a method, or a compiled graph.

    The graph takes {"messages": [...]}; with a checkpointer it keeps the messages of each thread. It has the method's
    name, because a calibration is checked against the name of the graph.

    Example: `conversation_graph("sure")`.
    """
    graph = find_method(method).graph if isinstance(method, str) else method
    name = graph.get_name()
    return build_conversation_graph(name, name, graph, Context)


def prepare_conversation(graph: Any, state: Question, history: Sequence[Mapping[str, Any]]) -> tuple[Any, Any]:
    """Returns (the conversation graph around the method's graph, the input of the conversation graph).

    The input ends with the question, after the turns of the history. graph: the method's graph; state: the input of
    the method's graph.
    """
    turns = [(turn["role"], turn["content"]) for turn in read_history(history)]
    messages = [*turns, ("user", state["question"])]
    other_inputs = {"given": state.get("given"), "gold_answers": state.get("gold_answers")}
    return conversation_graph(graph), {"messages": messages, **other_inputs}


# The graph "chat" in LangGraph Studio. The setting `method` chooses the method that answers.
graph = build_conversation_graph(
    "chat", "ask_method", make_method_node(lambda name: find_method(name).graph), ChatContext
)
