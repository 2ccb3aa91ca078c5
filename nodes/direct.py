"""Nodes for few-shot answering without reasoning (Brown et al. 2020)."""

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.state import Passage, State
from quorum.nodes.answer import make_answer
from quorum.nodes.answer_types import choose_variant, note_brief_answer_type
from quorum.nodes.ask import ask
from quorum.nodes.demonstrations import format_demonstrations
from quorum.prompts.blendfilter import DIRECT, DIRECT_FROM_MEMORY


async def direct_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> answer, passages (those that the prompt showed)."""
    return await answer_directly(state, runtime, state["passages"])


async def direct_from_memory(state: State, runtime: Runtime[Context]) -> State:
    """question -> answer, passages (an empty list)."""
    return await answer_directly(state, runtime, None)


async def answer_directly(state: State, runtime: Runtime[Context], passages: list[Passage] | None) -> State:
    """Ask the few-shot prompt, and return the update of the state.

    passages: what the prompt shows; None for the prompt that asks the model to answer from memory.
    """
    question = state["question"]
    demonstrations = await format_demonstrations(
        question, runtime, with_reasoning=False, with_passages=passages is not None
    )
    replies = await ask(
        choose_variant(DIRECT_FROM_MEMORY if passages is None else DIRECT, question, runtime),
        runtime,
        question=question,
        demonstrations=demonstrations,
        passages=passages,
        cuts_later=True,
    )
    return {
        **make_answer(replies.values[0], text=replies.texts[0]),
        **note_brief_answer_type(DIRECT, question, runtime),
        "passages": replies.shown,
        **replies.state_update,
    }
