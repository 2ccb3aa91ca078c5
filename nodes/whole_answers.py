"""Nodes for graphs of your own (`quorum.extend`): each gives a short answer with its evidence at once.

The methods' graphs have nodes of their own for this: `shorten` and `find_evidence`.
"""

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.state import State, merge_counted_replies, merge_usage
from quorum.nodes import answer
from quorum.nodes import vote as votes
from quorum.nodes.find_evidence import find_evidence
from quorum.nodes.shorten import shorten


async def concat_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> answer (short, if the question wants it), confidence, evidence, citations, passages."""
    update = await answer.concat_answer(state, runtime)
    cut = await shorten({**state, **update}, runtime)
    counters = State(
        usage=merge_usage(update["usage"], cut.get("usage")),
        malformed=merge_counted_replies(update["malformed"], cut.get("malformed")),
    )
    return await add_evidence({**update, **cut, **counters}, state, runtime)


async def vote(state: State, runtime: Runtime[Context]) -> State:
    """question, votes, passages -> answer, confidence, evidence, citations, voters_without_evidence."""
    return await add_evidence(await votes.vote(state, runtime), state, runtime)


async def add_evidence(update: State, state: State, runtime: Runtime[Context]) -> State:
    """The update of an answering node together with its evidence."""
    return {**update, **await find_evidence({**state, **update}, runtime)}
