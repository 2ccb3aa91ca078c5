"""The node that checks whether the model says that it cannot answer."""

from typing import cast

from langgraph.types import Overwrite

from quorum.core.labels import LABELS
from quorum.core.state import State
from quorum.core.text import is_unknown


async def unknown_check(state: State) -> State:
    """answer, votes -> unknown. If there is an answer, clears votes that were asked for in advance (`speculative`)."""
    # The label NOT ENOUGH INFO reads like "unknown", but is an answer.
    unknown = is_unknown(state["answer"]) and state["answer"] not in LABELS
    if unknown or not state.get("votes"):
        return {"unknown": unknown}
    return cast(State, {"unknown": False, "votes": Overwrite(None)})  # the type checker does not know Overwrite
