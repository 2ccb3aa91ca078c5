"""The node that finds passages."""

from dataclasses import replace

from langgraph.runtime import Runtime

from quorum import retrievers
from quorum.core.context import Context, count_passages_to_find, get_context
from quorum.core.state import State


async def search(state: State, runtime: Runtime[Context]) -> State:
    """question, query or search_text, given_passages -> passages (at most k, or with a reranker at most rerank_from).

    Found passages stand best first. Given passages keep their order if there is no query; with a query, BM25 ranks
    them.
    """
    context, given_passages = get_context(runtime), state.get("given_passages")
    query = state.get("search_text") or state.get("query")
    if given_passages is not None and query is None:
        return {"passages": given_passages[: count_passages_to_find(context)]}
    if context.reranker is not None:
        context = replace(context, k=count_passages_to_find(context))
    return {"passages": await retrievers.search(query or state["question"], context, given_passages)}
