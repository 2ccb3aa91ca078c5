"""Finding passages."""

from langgraph.runtime import Runtime

from core.context import Context, settings
from core.state import State
from retrievers import search


async def retrieve(state: State, runtime: Runtime[Context]) -> State:
    """question -> passages (k, best first). Provided passages serve in their own order."""
    context, provided = settings(runtime), state.get("provided")
    if provided is not None:
        return {"passages": provided[: context.k]}
    return {"passages": await search(state["question"], context)}
