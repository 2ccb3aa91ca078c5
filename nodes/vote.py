"""The vote."""

from langgraph.runtime import Runtime

from core.context import Context, settings
from core.state import State
from core.votes import tally
from nodes.evidence import evidence_of_voters


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
