"""Context filters (Wang et al. 2023, FILCO, sections 2.2 and 2.3): passages are cut down before they are read."""

import asyncio
from collections.abc import Sequence
from functools import partial

from langgraph.runtime import Runtime

from quorum.algorithms.filco_measures import shortened, silver
from quorum.core.context import Context, filter_of, settings, writing_filter
from quorum.core.errors import SetupError
from quorum.core.labels import are_verdicts
from quorum.core.state import Passage, State
from quorum.models.context_filters import Mode, context_filter
from quorum.nodes.ask import ask
from quorum.parsing.kept_sentences import chosen_passages, copied_sentences

PROMPTS = {"filco": ("filter_sentences", copied_sentences), "psg": ("filter_passages", chosen_passages)}


async def filter_by_prompt(state: State, runtime: Runtime[Context]) -> State:
    """question or query, passages -> passages (what a chat model, or one trained for it, chooses), retrieved."""
    passages, context = state["passages"], settings(runtime)
    prompt, parse = PROMPTS[context.filter_mode]
    asked = await ask(
        prompt,
        runtime,
        parse=partial(parse, passages=passages),
        inputs={"question": sought(state)},
        passages=passages,
        temperature=0.0,
        model=writing_filter(context),
    )
    chosen = [piece for piece in asked.values[0] if piece.rank < len(asked.shown)]
    return {**filtered(state, shortened(passages, chosen)), **asked.update}


async def filter_by_model(state: State, runtime: Runtime[Context]) -> State:
    """question or query, passages -> passages (what a trained filter keeps), retrieved."""
    context = settings(runtime)
    mode: Mode = "psg" if context.filter_mode == "psg" else "filco"
    model = await asyncio.to_thread(context_filter, filter_of(context))
    kept = await model.select(sought(state), state["passages"], mode)
    return {**filtered(state, kept.passages), "usage": {PROMPTS[mode][0]: kept.usage}}


async def filter_by_answers(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, oracle -> passages (the best sentence by the gold answers), retrieved.

    Nothing found: the first passage. Short answers by STRINC; labels, yes or no, turns and paragraphs, which no
    sentence holds, by LEXICAL.
    """
    answers, passages = state.get("oracle"), state["passages"]
    if answers is None:
        raise SetupError(
            "filter_mode=silver chooses sentences by the gold answers, and this question came without; give "
            "gold_answers, or choose filter_mode filco, psg or full."
        )
    short = settings(runtime).answer_type == "short" and not are_verdicts(answers)
    chosen = await silver(state["question"], answers, passages, "strinc" if short else "lexical")
    return filtered(state, shortened(passages, chosen) or passages[:1])


def sought(state: State) -> str:
    """What the passages were searched for: a follow-up question needs other sentences than the question."""
    return state.get("query") or state["question"]


def filtered(state: State, kept: Sequence[Passage]) -> State:
    """passages and retrieved: with what an earlier search for the same question found."""
    ids = [passage["id"] for passage in state["passages"]]
    return {"passages": list(kept), "retrieved": list(dict.fromkeys([*(state.get("retrieved") or []), *ids]))}
