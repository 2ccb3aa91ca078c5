"""Nodes that merge the passages of several queries into one list."""

from quorum.core.state import Passage, QueryPassages, State
from quorum.nodes.filter_passages import get_retrieved_ids


async def collect_passages(state: State) -> State:
    """rank, passages, retrieved -> knowledge (one)."""
    return {
        "knowledge": [QueryPassages(rank=state["rank"], retrieved=get_retrieved_ids(state), passages=state["passages"])]
    }


async def merge_passages(state: State) -> State:
    """knowledge -> passages (each once, in the order of the queries), retrieved."""
    retrievals = sorted(state.get("knowledge") or [], key=lambda knowledge: knowledge["rank"])
    passages_by_id: dict[str, Passage] = {}
    for knowledge in retrievals:
        for passage in knowledge["passages"]:
            passages_by_id.setdefault(passage["id"], passage)
    retrieved_ids = dict.fromkeys(id_ for knowledge in retrievals for id_ in knowledge["retrieved"])
    return {"passages": list(passages_by_id.values()), "retrieved": list(retrieved_ids)}
