"""The first and the last node of a conversation's turn."""

from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.conversation import ConversationState, Turn
from quorum.core.errors import SetupError
from quorum.nodes.begin import check_question, make_empty_state

SPEAKER_OF_TYPE = {"human": "user", "ai": "assistant"}
# `quorum serve` appends the sources to an answer; they are not part of the conversation.
SOURCES_HEADING = "\n\nSources:\n"


async def begin_turn(state: ConversationState, runtime: Runtime[Context]) -> ConversationState:
    """messages -> question (the last user message), history (what was said before it).

    messages, given and gold_answers stay; all other keys are reset.
    """
    messages = state.get("messages") or []
    place = next((i for i in reversed(range(len(messages))) if messages[i].type == "human"), None)
    if place is None:
        raise SetupError("The messages hold no question; the last message of the user is the question.")
    question = messages[place].text.strip()
    check_question(question)
    history = [turn for turn in map(read_turn, messages[:place]) if turn["role"] and turn["content"]]
    given_values = {"given": state.get("given"), "gold_answers": state.get("gold_answers")}
    reset: Any = {**make_empty_state(), **given_values, "question": question, "history": history}
    return cast(ConversationState, reset)


def read_turn(message: AnyMessage) -> Turn:
    """A message as a turn. Its role is empty unless a user or an assistant speaks."""
    text = str(message.text).partition(SOURCES_HEADING)[0]
    return Turn(role=SPEAKER_OF_TYPE.get(message.type, ""), content=" ".join(text.split()))


async def end_turn(state: ConversationState, runtime: Runtime[Context]) -> ConversationState:
    """answer -> messages (with the answer), given and gold_answers cleared: they belonged to this turn."""
    return {"messages": [AIMessage(state["answer"])], "given": None, "gold_answers": None}
