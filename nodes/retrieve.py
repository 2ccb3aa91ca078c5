"""Finding passages."""

from langgraph.runtime import Runtime

from quorum.core.context import Context, settings
from quorum.core.state import State
from quorum.retrievers import search


async def retrieve(state: State, runtime: Runtime[Context]) -> State:
    """question or query -> passages (k, best first). Provided passages serve the question in their own order and any
    other query ranked by BM25.
    """
    context, provided, query = settings(runtime), state.get("provided"), state.get("query")
    if provided is not None and query is None:
        return {"passages": provided[: context.k]}
    return {"passages": await search(query or state["question"], context, provided)}
