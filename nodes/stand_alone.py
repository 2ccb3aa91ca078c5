"""The node that makes a question of a conversation understandable without the conversation."""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.conversation import ConversationState, Turn
from quorum.core.errors import TooLong
from quorum.core.state import State
from quorum.nodes.ask import ask
from quorum.prompts.any_method import STAND_ALONE

MAX_TURNS = 12  # the prompt shows at most this many messages from before the question
MAX_TURN_LENGTH = 1_500  # the prompt shows at most this many characters of each message


async def stand_alone(state: ConversationState, runtime: Runtime[Context]) -> State:
    """question, history -> question (which needs no history).

    While the prompt does not fit into the model's window, the oldest turns are dropped (each time, more than half
    of the turns). If no turn is left, the question stays as it is.
    """
    question, turns = state["question"], state["history"][-MAX_TURNS:]
    while turns:
        try:
            replies = await ask(STAND_ALONE, runtime, history=format_turns(turns), question=question, temperature=0.0)
        except TooLong:
            turns = turns[len(turns) // 2 + 1 :]
        else:
            return {"question": replies.values[0], **replies.state_update}
    return {}


def format_turns(turns: Sequence[Turn]) -> str:
    """A line for each turn (message), with at most MAX_TURN_LENGTH characters of its content.

    >>> format_turns([{"role": "user", "content": "Who built it?"}, {"role": "assistant", "content": "Ada Korn"}])
    'User: Who built it?\\nAssistant: Ada Korn'
    """
    return "\n".join(f"{turn['role'].capitalize()}: {turn['content'][:MAX_TURN_LENGTH]}" for turn in turns)
