"""The model's own word that it cannot answer."""

from core.state import State
from core.text import is_unknown


async def unknown_check(state: State) -> State:
    """answer -> unknown."""
    return {"unknown": is_unknown(state["answer"])}
