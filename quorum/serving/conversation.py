"""What a conversation asks: its last user message, and what was said before it."""

from collections.abc import Sequence
from dataclasses import dataclass

from quorum.serving.errors import Refusal

LONGEST_QUESTION = 20_000  # characters
SPEAKERS = ("user", "assistant")


@dataclass(frozen=True)
class Message:
    """One message of a chat: who says it ("user", "assistant", "system", ...), and its text."""

    role: str
    text: str


def read_question(messages: Sequence[Message]) -> str:
    """The last user message. Raises `Refusal` if there is no question, or it is too long."""
    asked = next((one.text.strip() for one in reversed(messages) if one.role == "user"), "")
    if not asked:
        raise Refusal(400, "The messages hold no question; the last user message is the question.", param="messages")
    if len(asked) > LONGEST_QUESTION:
        said = f"The question has more than {LONGEST_QUESTION:,} characters; shorten it."
        raise Refusal(400, said, "string_above_max_length", param="messages")
    return asked


def read_turns(messages: Sequence[Message]) -> list[dict[str, str]]:
    """What user and assistant said before the last user message: the history that `quorum.answer` takes."""
    last = max((place for place, one in enumerate(messages) if one.role == "user"), default=0)
    said = [one for one in messages[:last] if one.role in SPEAKERS and one.text.strip()]
    return [{"role": one.role, "content": one.text} for one in said]
