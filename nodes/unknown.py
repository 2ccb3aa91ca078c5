"""The model's own word that it cannot answer."""

from typing import cast

from langgraph.types import Overwrite

from quorum.core.labels import LABELS
from quorum.core.state import State
from quorum.core.text import is_unknown


async def unknown_check(state: State) -> State:
    """answer -> unknown; votes that were asked for ahead are dropped where they are not needed."""
    unknown = is_unknown(state["answer"]) and state["answer"] not in LABELS
    if unknown or not state.get("votes"):
        return {"unknown": unknown}
    return cast(State, {"unknown": False, "votes": Overwrite(None)})  # Overwrite stands for the value that it sets
