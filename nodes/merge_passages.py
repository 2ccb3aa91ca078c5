"""Nodes that merge the passages of several queries into one list."""

from quorum.core.state import Passage, QueryPassages, State
from quorum.nodes.filter_passages import get_retrieved_ids


async def collect_passages(state: State) -> State:
    """rank, passages, retrieved -> passages_by_query (one)."""
    return {
        "passages_by_query": [
            QueryPassages(rank=state["rank"], retrieved=get_retrieved_ids(state), passages=state["passages"])
        ]
    }


async def merge_passages(state: State) -> State:
    """passages_by_query -> passages (each once, in the order of the queries), retrieved."""
    retrievals = sorted(state.get("passages_by_query") or [], key=lambda found: found["rank"])
    passages_by_id: dict[str, Passage] = {}
    for found in retrievals:
        for passage in found["passages"]:
            passages_by_id.setdefault(passage["id"], passage)
    retrieved_ids = dict.fromkeys(id_ for found in retrievals for id_ in found["retrieved"])
    return {"passages": list(passages_by_id.values()), "retrieved": list(retrieved_ids)}
