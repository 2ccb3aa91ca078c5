"""The node that decides which of two summaries is more informative."""

from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.core.state import Preference, State
from quorum.nodes.ask import ask
from quorum.parsing.preferences import parse_preference


async def rank_pair(state: State, runtime: Runtime[Context]) -> State:
    """question, pair, summaries (of the pair, in its order) -> preferences (one). The prompt shows no candidates."""
    (first, second), pair = state["summaries"] or [], state["pair"]
    replies = await ask(
        "ranking",
        runtime,
        parse=parse_preference,
        inputs={"question": state["question"], "first": first, "second": second},
        passages=None,
        call_subject=f"candidates {pair[0] + 1} and {pair[1] + 1}",
        model=get_context(runtime).verifier,
    )
    place = replies.values[0]
    preference = Preference(first=pair[0], second=pair[1], preferred=None if place is None else pair[place])
    return {"preferences": [preference], **replies.state_update}
