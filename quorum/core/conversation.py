"""A conversation: its turns, and the input, state and output of the graph that answers follow-up questions."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from quorum.core.errors import SetupError
from quorum.core.state import Passage, Result, State

# "human" and "ai" are LangChain's words for the other two.
SPEAKER_OF_ROLE = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}


class Turn(TypedDict):
    """One message of a conversation. role: "user" or "assistant"; content: its text."""

    role: str
    content: str


class ConversationInput(TypedDict, total=False):
    """messages: the conversation, whose last user message is the question. On a thread, send only the new message."""

    messages: Annotated[list[AnyMessage], add_messages]
    given: list[Passage] | None
    gold_answers: list[str] | None


class ConversationResult(Result, total=False):
    """A method's result.

    question: the stand-alone question that was answered. messages: the conversation, which now ends with the answer.
    """

    question: str
    messages: Annotated[list[AnyMessage], add_messages]


class ConversationState(State, total=False):
    """history: the turns before the question, oldest first."""

    messages: Annotated[list[AnyMessage], add_messages]
    history: list[Turn]


def read_history(history: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """The turns of a history that a caller gives. Raises `SetupError` for an item that is not a turn.

    >>> read_history([{"role": "human", "content": "Who built it?"}])
    [{'role': 'user', 'content': 'Who built it?'}]
    """
    for number, item in enumerate(history, start=1):
        if not (
            isinstance(item, Mapping) and item.get("role") in SPEAKER_OF_ROLE and isinstance(item.get("content"), str)
        ):
            raise SetupError(
                f"Item {number} of the history is not a turn ({item!r:.80}); give {{'role': 'user' or 'assistant', "
                "'content': text}."
            )
    return [Turn(role=SPEAKER_OF_ROLE[item["role"]], content=str(item["content"])) for item in history]
