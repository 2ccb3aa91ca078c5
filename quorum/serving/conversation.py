"""Reads a conversation: its question, which is the last user message, and the earlier turns."""

from collections.abc import Sequence
from dataclasses import dataclass

from quorum.serving.errors import Refusal

LONGEST_QUESTION = 20_000  # characters
SPEAKERS = ("user", "assistant")


@dataclass(frozen=True)
class Message:
    """One message of a chat: who wrote it ("user", "assistant", "system", ...), and its text."""

    role: str
    text: str


def read_question(messages: Sequence[Message]) -> str:
    """The last user message. Raises `Refusal` if there is no question, or it is too long."""
    question = next((message.text.strip() for message in reversed(messages) if message.role == "user"), "")
    if not question:
        raise Refusal(
            400, "The messages hold no question; add a user message (the last one is the question).", param="messages"
        )
    if len(question) > LONGEST_QUESTION:
        refusal_text = f"The question has more than {LONGEST_QUESTION:,} characters; shorten it."
        raise Refusal(400, refusal_text, "string_above_max_length", param="messages")
    return question


def read_turns(messages: Sequence[Message]) -> list[dict[str, str]]:
    """The turns of user and assistant before the last user message: the history that `quorum.answer` takes."""
    question_index = max((index for index, message in enumerate(messages) if message.role == "user"), default=0)
    turns = [message for message in messages[:question_index] if message.role in SPEAKERS and message.text.strip()]
    return [{"role": item.role, "content": item.text} for item in turns]
