"""Nodes in which the model orders passages: all at once, or in windows that move from the last passage to the first."""

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.errors import TooLong
from quorum.core.state import Passage, State
from quorum.nodes.ask import ask
from quorum.prompts.baselines import RANK_PASSAGES

WINDOW, WINDOW_STEP = 5, 3  # passages in a window; ranks between the beginnings of two consecutive windows


async def rank_passages(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> passages, most helpful first (Creswell et al. 2022: selection)."""
    passages, update = await rank_by_model(state["question"], state["passages"], runtime)
    return {"passages": passages, **update}


async def rank_window(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, finished_rounds -> passages (one window is now ranked; Sun et al. 2023), finished_rounds."""
    passages, finished_rounds = state["passages"], state.get("finished_rounds") or 0
    start = find_window_start(len(passages), finished_rounds)
    end = start + WINDOW
    window, update = await rank_by_model(
        state["question"], passages[start:end], runtime, f"window {finished_rounds + 1}"
    )
    return {"passages": [*passages[:start], *window, *passages[end:]], "finished_rounds": finished_rounds + 1, **update}


def find_window_start(passage_count: int, window_number: int) -> int:
    """The rank, from 0, at which a window begins. Window 0 holds the last passages; the final window begins at rank 0.

    WINDOW and WINDOW_STEP are those of the listwise reranker that SuRe's paper compares with SuRe (Kim et al. 2024,
    table 4).
    """
    return max(0, passage_count - WINDOW - WINDOW_STEP * window_number)


async def rank_by_model(
    question: str, passages: list[Passage], runtime: Runtime[Context], call_subject: str = ""
) -> tuple[list[Passage], State]:
    """The passages in the model's order, and a state update that counts usage, dropped passages and malformed replies.

    Passages that the reply does not name, or that did not fit into the prompt, follow in their old order. If not even
    one passage fits, all keep their old order.
    """
    try:
        replies = await ask(RANK_PASSAGES, runtime, question=question, passages=passages, call_subject=call_subject)
    except TooLong:
        return passages, {"dropped": len(passages)}
    return [passages[place] for place in replies.values[0]], replies.state_update
