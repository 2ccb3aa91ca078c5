"""Passage selection by the passages' own answers."""

from quorum.algorithms.votes import boxes
from quorum.core.state import State


async def keep_answered(state: State) -> State:
    """votes, passages -> passages that gave an answer, candidates. All unknown: all passages, no candidates."""
    answers = boxes(state.get("votes") or [])
    answering = {vote["rank"] for votes in answers.values() for vote in votes}
    kept = [passage for rank, passage in enumerate(state["passages"]) if rank in answering]
    return {"passages": kept or state["passages"], "candidates": [votes[0]["answer"] for votes in answers.values()]}
