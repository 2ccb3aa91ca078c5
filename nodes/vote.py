"""Nodes that count the votes."""

from langgraph.runtime import Runtime

from quorum.algorithms.certificate import certify_votes
from quorum.algorithms.vote_key import VOTE_KEYS
from quorum.algorithms.votes import count_votes
from quorum.core.context import Context, get_context
from quorum.core.state import State, Voter
from quorum.models.rerankers import is_pointwise


async def vote(state: State, runtime: Runtime[Context]) -> State:
    """question, votes -> answer, answer_text, unknown, confidence, voters, voters_without_evidence (an empty list).

    The confidence is the winner's share of the votes that are not unknown. It is null if there is no winner, and if
    vote=staged, because then not every passage is asked.
    """
    context, votes = get_context(runtime), state.get("votes") or []
    key = VOTE_KEYS[context.answer_measure]
    outcome = count_votes(votes, key)
    # The rank of a passage that voted for the winner -> the answer in the wording of this passage.
    winning_answers = {v["rank"]: v["answer"] for v in votes if key(v["answer"]) == key(outcome.answer)}
    voters = [Voter(rank=rank, answer=winning_answers[rank]) for rank in outcome.ranks]
    return {
        "answer": outcome.answer,
        "answer_text": outcome.answer_text,
        "unknown": outcome.unknown,
        "confidence": None if context.vote == "staged" else outcome.share,
        **({"voters": voters} if voters else {}),
        "voters_without_evidence": [],
    }


async def certified_vote(state: State, runtime: Runtime[Context]) -> State:
    """votes, passages -> the keys that `vote` returns, and certified.

    A certificate needs the votes of all passages. Each vote must depend on its own passage only, and must be the same
    if the question is asked again; and whether a passage votes must depend on no text of another, as with a reranker
    that scores pairs (quorum.algorithms.pair_order). Otherwise `certified` is not returned, and stays null as the node
    `begin` set it.
    """
    context, outcome = get_context(runtime), await vote(state, runtime)
    is_joint = context.reranker is not None and not is_pointwise(context.reranker)
    if context.vote == "staged" or is_joint or context.context_filter or state.get("temperature_refused"):
        return outcome
    return {**outcome, "certified": certify_votes(state.get("votes") or [], VOTE_KEYS[context.answer_measure])}
