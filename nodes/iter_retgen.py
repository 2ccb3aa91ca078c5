"""The node that makes the next query from the previous round's answer (ITER-RETGEN, Shao et al. 2023, section 3)."""

from quorum.core.state import State, Step
from quorum.core.text import is_unknown
from quorum.nodes.steps import get_steps


async def next_query(state: State) -> State:
    """question, rationale, answer, query, passages, steps -> query, steps (with the round that has ended).

    The new query is the rationale, the answer (left out if it is unknown) and the question. It is None if there is no
    rationale and the answer is unknown; `retrieve` then searches for the question alone.
    """
    question, rationale, answer = state["question"], state.get("rationale"), state["answer"]
    parts = [part for part in (rationale, None if is_unknown(answer) else answer) if part]
    finished_step = Step(thought=rationale or "", query=state.get("query"), passages=state["passages"], answer=answer)
    return {"query": " ".join([*parts, question]) if parts else None, "steps": [*get_steps(state), finished_step]}
