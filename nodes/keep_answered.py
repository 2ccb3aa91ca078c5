"""The node that keeps the passages which gave an answer."""

from langgraph.runtime import Runtime

from quorum.algorithms.vote_key import VOTE_KEYS
from quorum.algorithms.votes import group_votes
from quorum.core.context import Context, get_context
from quorum.core.state import State


async def keep_answered(state: State, runtime: Runtime[Context]) -> State:
    """votes, passages -> passages with an answer, candidates. If all votes are unknown: all passages, no candidates."""
    votes_of_answer = group_votes(state.get("votes") or [], VOTE_KEYS[get_context(runtime).answer_measure])
    answering_ranks = {vote["rank"] for votes in votes_of_answer.values() for vote in votes}
    answered_passages = [passage for rank, passage in enumerate(state["passages"]) if rank in answering_ranks]
    return {
        "passages": answered_passages or state["passages"],
        "candidates": [votes[0]["answer"] for votes in votes_of_answer.values()],
    }
