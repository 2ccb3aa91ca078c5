"""The node that makes the next query from the last answer (ITER-RETGEN, Shao et al. 2023, section 3)."""

from quorum.core.state import State, Step
from quorum.core.text import is_unknown


async def next_query(state: State) -> State:
    """question, rationale, answer, passages -> query (reasoning and answer, then the question), steps (one more)."""
    question, rationale, answer = state["question"], state.get("rationale"), state["answer"]
    parts = [part for part in (rationale, None if is_unknown(answer) else answer) if part]
    finished_step = Step(thought=rationale or "", query=state.get("query"), passages=state["passages"], answer=answer)
    return {"query": " ".join([*parts, question]) if parts else None, "steps": [*state["steps"], finished_step]}
