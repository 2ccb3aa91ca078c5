"""Nodes that propose candidate answers."""

from functools import partial

from langgraph.runtime import Runtime

from quorum.algorithms.vote_key import VOTE_KEYS
from quorum.core.context import Context, get_context
from quorum.core.lettered_lists import format_lettered_list
from quorum.core.state import State
from quorum.nodes.answer_types import note_brief_answer_type, resolve_sure_answer_type
from quorum.nodes.ask import ask
from quorum.nodes.example_pairs import format_example_pairs
from quorum.prompts.sure import CANDIDATES


async def propose_candidates(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> candidates (most likely first), passages (those in the prompt)."""
    context = get_context(runtime)
    count = context.candidates
    replies = await ask(
        CANDIDATES.read_with(partial(CANDIDATES.parse, limit=count, key=VOTE_KEYS[context.answer_measure])),
        runtime,
        question=state["question"],
        examples=await format_example_pairs(runtime),
        count=str(count),
        form=format_lettered_list(["answer"] * count),
        passages=state["passages"],
    )
    return {"candidates": replies.values[0], "passages": replies.shown, **replies.state_update}


async def propose_short_answers(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> answer_type (short or yes_no), candidates, passages."""
    answer_type = note_brief_answer_type(CANDIDATES, state["question"], runtime)  # a SetupError for other types
    return {**answer_type, **await propose_candidates(state, runtime)}


async def propose_sure_candidates(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> candidates, passages. For SuRe, whose candidates are always short.

    If the answer is long, SuRe answers with the summary of the best candidate. With sure_parts=summaries it chooses no
    candidate, so answer_type=long raises a SetupError. Every other type except short and yes_no always raises it.
    """
    if resolve_sure_answer_type(get_context(runtime), state["question"]).answer_type == "long":
        return await propose_candidates(state, runtime)
    return await propose_short_answers(state, runtime)
