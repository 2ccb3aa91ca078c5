"""The node that checks whether a summary supports its candidate."""

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.state import State, SummaryValidity
from quorum.nodes.ask import ask
from quorum.prompts.sure import VALIDITY


async def validate(state: State, runtime: Runtime[Context]) -> State:
    """question, rank, candidates (one), summaries (the candidate's) -> summary_validities (one). Sends no passages."""
    (candidate,), (summary,), rank = state["candidates"] or [], state["summaries"] or [], state["rank"]
    replies = await ask(
        VALIDITY,
        runtime,
        question=state["question"],
        prediction=candidate,
        summary=summary,
        call_subject=f"candidate {rank + 1}",
    )
    return {"summary_validities": [SummaryValidity(rank=rank, valid=replies.values[0])], **replies.state_update}
