"""Nodes for SuRe's base prompt, which asks for an answer of at most three words (Kim et al. 2024, listings 10 and 14).

Three prompts come from it: with passages, without passages, and with passages and a cue to reason step by step (Kojima
et al. 2022).
"""

from langgraph.runtime import Runtime

from quorum.core.context import Context, get_context
from quorum.core.state import Passage, State
from quorum.nodes.answer import answer_with_reasoning, choose_sample
from quorum.nodes.answer_types import get_answer_converter, note_brief_answer_type, set_answer_type
from quorum.nodes.ask import ask
from quorum.nodes.example_pairs import format_example_pairs
from quorum.prompts.baselines import ZERO_SHOT_COT
from quorum.prompts.prompt import Prompt
from quorum.prompts.sure import ANSWER_BASE, ANSWER_BASE_CLOSED


async def base_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> answer (the most frequent of the samples), confidence, passages (those shown)."""
    return await answer_briefly(ANSWER_BASE, state, runtime, state["passages"])


async def closed_book_answer(state: State, runtime: Runtime[Context]) -> State:
    """question -> answer (the most frequent of the samples), confidence, passages (an empty list)."""
    return await answer_briefly(ANSWER_BASE_CLOSED, state, runtime, None)


async def stepwise_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> rationale (step by step), answer, passages (those shown)."""
    return await answer_with_reasoning(ZERO_SHOT_COT, state, runtime)


async def answer_briefly(
    prompt: Prompt[str], state: State, runtime: Runtime[Context], passages: list[Passage] | None
) -> State:
    """Ask for an answer of at most three words; the most frequent of the samples wins. confidence: its share of the
    samples; null if there is only one sample.
    """
    question, convert_answer = state["question"], get_answer_converter(prompt, state["question"], runtime)
    replies = await ask(
        prompt,
        runtime,
        question=question,
        examples=await format_example_pairs(runtime),
        passages=passages,
        n=get_context(runtime).samples,
        cuts_later=True,
    )
    answer_type = note_brief_answer_type(prompt, question, runtime)
    context = set_answer_type(get_context(runtime), answer_type["answer_type"] or "short")
    return {
        **choose_sample([convert_answer(answer) for answer in replies.values], replies.texts, context),
        **answer_type,
        "passages": replies.shown,
        **replies.state_update,
    }
