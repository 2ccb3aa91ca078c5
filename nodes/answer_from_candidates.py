"""Nodes of SuRe's ablations: they answer from candidates or summaries, but do not check or rank the candidates."""

from functools import partial

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.lettered_lists import format_lettered_list
from quorum.core.state import State
from quorum.core.text import is_unknown
from quorum.nodes.answer import make_answer
from quorum.nodes.answer_types import get_answer_converter, note_brief_answer_type
from quorum.nodes.ask import ask
from quorum.parsing.choices import parse_choice
from quorum.prompts.sure import ANSWER_CHOICES, ANSWER_SUMMARIES, ANSWER_SUMMARY


async def summaries_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, summaries (shown after the passages) -> answer, passages (those shown)."""
    question, convert_answer = state["question"], get_answer_converter(ANSWER_SUMMARIES, state["question"], runtime)
    replies = await ask(
        ANSWER_SUMMARIES,
        runtime,
        question=question,
        summaries=state["summaries"] or [],
        passages=state["passages"],
        cuts_later=True,
    )
    return {
        **make_answer(convert_answer(replies.values[0]), text=replies.texts[0]),
        **note_brief_answer_type(ANSWER_SUMMARIES, question, runtime),
        "passages": replies.shown,
        **replies.state_update,
    }


async def answer_from_choices(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, candidates (shown as choices) -> answer, passages (those shown)."""
    candidates, convert_answer = (
        state["candidates"] or [],
        get_answer_converter(ANSWER_CHOICES, state["question"], runtime),
    )
    replies = await ask(
        ANSWER_CHOICES.read_with(partial(parse_choice, candidates=candidates)),
        runtime,
        question=state["question"],
        choices=format_lettered_list(candidates),
        passages=state["passages"],
    )
    answer = convert_answer(replies.values[0])
    return {
        **make_answer(answer, text=replies.texts[0] if is_unknown(answer) else answer),
        **note_brief_answer_type(ANSWER_CHOICES, state["question"], runtime),
        "passages": replies.shown,
        **replies.state_update,
    }


async def answer_from_summary(state: State, runtime: Runtime[Context]) -> State:
    """question, summaries (one) -> answer, rationale (the summary). The prompt shows the summary only."""
    question, (summary,), convert_answer = (
        state["question"],
        state["summaries"] or [],
        get_answer_converter(ANSWER_SUMMARY, state["question"], runtime),
    )
    replies = await ask(ANSWER_SUMMARY, runtime, question=question, summary=summary, cuts_later=True)
    return {
        **make_answer(convert_answer(replies.values[0]), text=replies.texts[0]),
        **note_brief_answer_type(ANSWER_SUMMARY, question, runtime),
        "rationale": summary,
        **replies.state_update,
    }
