"""The node that writes HyDE's query: a passage that might answer the question (Gao et al. 2023, section 3)."""

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.state import State
from quorum.nodes.ask import ask
from quorum.nodes.blend_queries import blend_query
from quorum.prompts.hyde import HYPOTHETICAL


async def write_hypothetical_passage(state: State, runtime: Runtime[Context]) -> State:
    """question -> search_text (the passage, then the question; None if the model writes that it does not know)."""
    question = state["question"]
    replies = await ask(HYPOTHETICAL, runtime, question=question)
    text = blend_query(replies.values[0], question)
    # Without a text, `retrieve` searches for the question, and given passages keep their order, as in `concat`.
    return {"search_text": None if text == question else text, **replies.state_update}
