"""Nodes that count the votes."""

from langgraph.runtime import Runtime

from quorum.algorithms.certificate import certify_votes
from quorum.algorithms.vote_key import vote_key
from quorum.algorithms.votes import count_votes
from quorum.core.context import Context, get_context
from quorum.core.state import State
from quorum.nodes.evidence import split_voters


async def vote(state: State, runtime: Runtime[Context]) -> State:
    """votes, passages -> answer, unknown, confidence (null if vote=staged), evidence, voters_without_evidence."""
    passages, votes, context = state["passages"], state.get("votes") or [], get_context(runtime)
    outcome = count_votes(votes)
    winning_answers = {
        vote["rank"]: vote["answer"] for vote in votes if vote_key(vote["answer"]) == vote_key(outcome.answer)
    }
    voters = [(winning_answers[rank], passages[rank]) for rank in outcome.ranks]
    evidence, unsupported_ids = split_voters(outcome.answer, voters, context.answer_type)
    return {
        "answer": outcome.answer,
        "unknown": outcome.unknown,
        "confidence": None if context.vote == "staged" else outcome.share,
        "evidence": evidence,
        "voters_without_evidence": unsupported_ids,
    }


async def certified_vote(state: State, runtime: Runtime[Context]) -> State:
    """votes, passages -> as `vote`, and certified (null if a vote may depend on more than its own passage)."""
    context, outcome = get_context(runtime), await vote(state, runtime)
    if context.vote == "staged" or context.reranker or context.context_filter or state.get("temperature_refused"):
        return outcome
    return {**outcome, "certified": certify_votes(state.get("votes") or [])}
