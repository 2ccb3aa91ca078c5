"""Finding passages."""

from typing import TYPE_CHECKING, Any, Protocol, cast

from langgraph.runtime import Runtime

from core.context import Context, settings
from core.state import Asked, Filtered, State
from retrievers import search

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


async def retrieve(state: State, runtime: Runtime[Context]) -> State:
    """question or query -> passages (k, best first). Provided passages serve the question in their own order and any
    other query ranked by BM25.
    """
    context, provided, query = settings(runtime), state.get("provided"), state.get("query")
    if provided is not None and query is None:
        return {"passages": provided[: context.k]}
    return {"passages": await search(query or state["question"], context, provided)}


class Retrieving(Protocol):
    """A node that finds passages."""

    async def __call__(self, state: Asked, runtime: Runtime[Context]) -> Filtered: ...


def retrieving(whole: "CompiledStateGraph[State, Context, Asked, Filtered]") -> Retrieving:
    """A node that runs `whole`, or its search alone where nothing is to come after it: entering a graph takes longer
    than searching among given passages.
    """

    async def retrieve_passages(state: Asked, runtime: Runtime[Context]) -> Filtered:
        """question, query, provided, oracle, retrieved -> passages and what finding them took."""
        context = settings(runtime)
        if context.reranker is None and context.context_filter is None:
            return cast(Filtered, await retrieve(cast(State, state), runtime))
        found: Any = await whole.ainvoke(state, context=context)
        return cast(Filtered, found)

    return retrieve_passages
