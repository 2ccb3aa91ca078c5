"""The first and the last node of a conversation's turn."""

from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.runtime import Runtime

from quorum.core.citation_marks import strip_marks
from quorum.core.context import Context
from quorum.core.conversation import ConversationState, Turn, remove_served_additions
from quorum.core.errors import SetupError
from quorum.core.shown_answer import get_shown_answer
from quorum.nodes.begin import check_question, make_empty_state

SPEAKER_OF_TYPE = {"human": "user", "ai": "assistant"}


async def begin_turn(state: ConversationState, runtime: Runtime[Context]) -> ConversationState:
    """messages -> question (the last user message), history (what was said before it).

    messages, given and gold_answers stay; all other keys are reset.
    """
    messages = state.get("messages") or []
    question_index = next((i for i in reversed(range(len(messages))) if messages[i].type == "human"), None)
    if question_index is None:
        raise SetupError("The messages hold no question; add a message of the user (the last one is the question).")
    question = messages[question_index].text.strip()
    check_question(question)
    history = [turn for turn in map(read_turn, messages[:question_index]) if turn["role"] and turn["content"]]
    given_values = {"given": state.get("given"), "gold_answers": state.get("gold_answers")}
    reset: Any = {**make_empty_state(state), **given_values, "question": question, "history": history}
    return cast(ConversationState, reset)


def read_turn(message: AnyMessage) -> Turn:
    """A message as a turn, without what `quorum serve` added to an answer, and without the marks of cited passages: the
    next answer comes from other passages.

    The turn's role is empty unless the message is from the user or the assistant.
    """
    role = SPEAKER_OF_TYPE.get(message.type, "")
    text = str(message.text)
    if role == "assistant":
        text = strip_marks(remove_served_additions(text))
    return Turn(role=role, content=" ".join(text.split()))


async def end_turn(state: ConversationState, runtime: Runtime[Context]) -> ConversationState:
    """answer, answer_text -> messages (adds the answer), given, gold_answers (cleared: they belonged to this turn)."""
    return {"messages": [AIMessage(get_shown_answer(state))], "given": None, "gold_answers": None}
