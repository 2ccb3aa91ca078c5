"""The node that decides which of two summaries is more informative."""

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.state import Preference, State
from quorum.nodes.ask import ask
from quorum.prompts.sure import RANKING


async def rank_pair(state: State, runtime: Runtime[Context]) -> State:
    """question, pair, summaries (of the two candidates of the pair, in the pair's order) -> preferences (one).

    The prompt shows the summaries, but not the candidates that they are about.
    """
    (first_summary, second_summary), pair = state["summaries"] or [], state["pair"]
    replies = await ask(
        RANKING,
        runtime,
        question=state["question"],
        first=first_summary,
        second=second_summary,
        call_subject=f"candidates {pair[0] + 1} and {pair[1] + 1}",
    )
    place = replies.values[0]  # of the preferred summary, 0 or 1; None for a tie or a malformed reply
    preference = Preference(first=pair[0], second=pair[1], preferred=None if place is None else pair[place])
    return {"preferences": [preference], **replies.state_update}
