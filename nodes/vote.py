"""The vote."""

from langgraph.runtime import Runtime

from quorum.algorithms.certificate import certified
from quorum.algorithms.votes import tally
from quorum.core.context import Context, settings
from quorum.core.state import State
from quorum.nodes.evidence import evidence_of_voters


async def vote(state: State, runtime: Runtime[Context]) -> State:
    """votes, passages -> answer, confidence, evidence (of its voters). A staged vote has no confidence."""
    passages = state["passages"]
    outcome = tally(state.get("votes") or [])
    return {
        "answer": outcome.answer,
        "unknown": outcome.unknown,
        "confidence": None if settings(runtime).vote == "staged" else outcome.share,
        "evidence": evidence_of_voters(outcome.answer, [passages[rank] for rank in outcome.ranks]),
    }


async def certified_vote(state: State, runtime: Runtime[Context]) -> State:
    """votes, passages -> as `vote`, and certified: that of all passages, when none was chosen or cut by the others."""
    context, outcome = settings(runtime), await vote(state, runtime)
    if context.vote == "staged" or context.reranker or context.context_filter:
        return outcome
    return {**outcome, "certified": certified(state.get("votes") or [])}
