"""Nodes that cut passages down before a prompt shows them (Wang et al. 2023, FILCO, sections 2.2 and 2.3)."""

import asyncio
from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime

from quorum.algorithms.filco_measures import Measure, choose_measure, choose_silver_pieces, shorten_passages
from quorum.core.context import Context, get_context, get_filter_spec
from quorum.core.errors import SetupError
from quorum.core.state import Passage, State
from quorum.models.context_filters import Mode, get_context_filter
from quorum.models.logprobs import make_scorer
from quorum.nodes.answer_types import get_answer_type
from quorum.nodes.ask import ask
from quorum.prompts.cxmi import make_cxmi_prompt_writer
from quorum.prompts.filco import FILTER_PROMPTS
from quorum.prompts.prompt import Prompt


async def filter_by_prompt(state: State, runtime: Runtime[Context]) -> State:
    """question or query, passages -> passages (what a chat model or trained filter copies or chooses), retrieved."""
    prompt = FILTER_PROMPTS[get_context(runtime).filter_mode]
    chosen, counts = await choose_by_prompt(prompt, get_search_text(state), state["passages"], runtime)
    return {**make_filter_update(state, chosen), **counts}


async def choose_by_prompt(
    prompt: Prompt[Any], question: str, passages: Sequence[Passage], runtime: Runtime[Context]
) -> tuple[list[Passage], State]:
    """(the passages, cut down to what the model copies or chooses; the counts of its call)."""
    replies = await ask(prompt, runtime, question=question, passages=passages, temperature=0.0)
    # Passages that did not fit into the model's window were not shown, so no piece of them can be chosen.
    chosen_pieces = [piece for piece in replies.values[0] if piece.rank < len(replies.shown)]
    return shorten_passages(passages, chosen_pieces), replies.state_update


async def filter_by_scores(state: State, runtime: Runtime[Context]) -> State:
    """question or query, passages -> passages (what a filter that scores sentences keeps), retrieved."""
    context = get_context(runtime)
    mode: Mode = "psg" if context.filter_mode == "psg" else "filco"
    model = await asyncio.to_thread(get_context_filter, get_filter_spec(context))
    selected_passages = await model.select(get_search_text(state), state["passages"], mode)
    return {
        **make_filter_update(state, selected_passages.passages),
        "usage": {FILTER_PROMPTS[mode].name: selected_passages.usage},
    }


async def filter_by_answers(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, given_gold_answers -> passages (the sentence that supports the gold answers best), retrieved.

    The measure is the one that the setting silver_measure names, or the best for the answer type. If the measure
    chooses no sentence, the first passage is kept.
    """
    answers, passages, context = state.get("given_gold_answers"), state["passages"], get_context(runtime)
    if answers is None:
        raise SetupError(
            "filter_mode=silver chooses sentences by the gold answers, and this question has none; give "
            "gold_answers, or choose filter_mode filco, psg or full."
        )
    chosen_pieces = await choose_silver_pieces(
        state["question"],
        answers,
        passages,
        choose_silver_measure(answers, state["question"], context),
        scorer=None if context.scorer is None else await asyncio.to_thread(make_scorer, context.scorer, context),
        make_prompt=make_cxmi_prompt_writer(get_answer_type(context, state["question"]), context.prompts),
        answer_measure=context.answer_measure,
    )
    return make_filter_update(state, shorten_passages(passages, chosen_pieces) or passages[:1])


def choose_silver_measure(answers: Sequence[str], question: str, context: Context) -> Measure:
    """The measure that silver_measure names, or else the best one for the answers.

    If the best one is CXMI and there is no scorer, LEXICAL replaces it.
    """
    if context.silver_measure is not None:
        return context.silver_measure
    best = choose_measure(answers, get_answer_type(context, question))
    return "lexical" if best == "cxmi" and context.scorer is None else best


def get_search_text(state: State) -> str:
    """The query that found the passages, or the question if there is no query.

    The sentences that help with a query may differ from those that help with the question.
    """
    return state.get("query") or state["question"]


def make_filter_update(state: State, passages: Sequence[Passage]) -> State:
    """The state's update: `passages`, the filtered passages; `retrieved`, the ids that earlier searches found, and then
    those of the passages before the filter.
    """
    ids = [passage["id"] for passage in state["passages"]]
    return {"passages": list(passages), "retrieved": list(dict.fromkeys([*(state.get("retrieved") or []), *ids]))}
