"""Nodes that count the votes."""

from langgraph.runtime import Runtime

from quorum.algorithms.certificate import certify_votes
from quorum.algorithms.votes import count_votes
from quorum.core.context import Context, get_context
from quorum.core.state import State
from quorum.nodes.evidence import find_voter_evidence


async def vote(state: State, runtime: Runtime[Context]) -> State:
    """votes, passages -> answer, confidence (null in a staged vote), evidence (of the passages that voted for it)."""
    passages = state["passages"]
    outcome = count_votes(state.get("votes") or [])
    return {
        "answer": outcome.answer,
        "unknown": outcome.unknown,
        "confidence": None if get_context(runtime).vote == "staged" else outcome.share,
        "evidence": find_voter_evidence(outcome.answer, [passages[rank] for rank in outcome.ranks]),
    }


async def certified_vote(state: State, runtime: Runtime[Context]) -> State:
    """votes, passages -> as `vote`, and certified (null if staged, reranked or filtered)."""
    context, outcome = get_context(runtime), await vote(state, runtime)
    if context.vote == "staged" or context.reranker or context.context_filter:
        return outcome
    return {**outcome, "certified": certify_votes(state.get("votes") or [])}
