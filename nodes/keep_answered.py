"""The node that keeps the passages which gave an answer."""

from quorum.algorithms.votes import group_votes
from quorum.core.state import State


async def keep_answered(state: State) -> State:
    """votes, passages -> passages that gave an answer, candidates. If all are unknown: all passages, no candidates."""
    answers = group_votes(state.get("votes") or [])
    answering = {vote["rank"] for votes in answers.values() for vote in votes}
    answered = [passage for rank, passage in enumerate(state["passages"]) if rank in answering]
    return {"passages": answered or state["passages"], "candidates": [votes[0]["answer"] for votes in answers.values()]}
