"""Nodes that merge the passages of several queries into one list."""

from quorum.core.state import Passage, QueryPassages, State
from quorum.nodes.filter_passages import get_retrieved_ids


async def collect_passages(state: State) -> State:
    """rank (the query's number), passages, retrieved -> passages_by_query (one item: the passages of this query)."""
    return {
        "passages_by_query": [
            QueryPassages(rank=state["rank"], retrieved=get_retrieved_ids(state), passages=state["passages"])
        ]
    }


async def merge_passages(state: State) -> State:
    """passages_by_query -> passages (each once, in the order of the queries), retrieved (each id once)."""
    queries = sorted(state.get("passages_by_query") or [], key=lambda query: query["rank"])
    passages_by_id: dict[str, Passage] = {}
    for query in queries:
        for passage in query["passages"]:
            passages_by_id.setdefault(passage["id"], passage)
    retrieved_ids = dict.fromkeys(id_ for query in queries for id_ in query["retrieved"])
    return {"passages": list(passages_by_id.values()), "retrieved": list(retrieved_ids)}
