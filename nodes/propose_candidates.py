"""Candidate answers."""

from functools import partial

from langgraph.runtime import Runtime

from quorum.core.context import Context, settings
from quorum.core.lettered_lists import lettered
from quorum.core.state import State
from quorum.nodes.answer_types import facts_only
from quorum.nodes.ask import ask
from quorum.nodes.example_pairs import example_pairs
from quorum.parsing.candidates import candidate_answers


async def propose_candidates(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> candidates, the likeliest first; the passages that fitted."""
    count = settings(runtime).candidates
    asked = await ask(
        "candidates",
        runtime,
        parse=partial(candidate_answers, most=count),
        inputs={
            "question": state["question"],
            "examples": await example_pairs(runtime),
            "count": str(count),
            "form": lettered(["answer"] * count),
        },
        passages=state["passages"],
    )
    return {"candidates": asked.values[0], "passages": asked.shown, **asked.update}


async def propose_facts(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> candidates, one of which is to be the answer: a short fact, or yes or no."""
    facts_only("candidates", runtime)
    return await propose_candidates(state, runtime)


async def propose_answers(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> candidates, one of which is to be the answer; a long answer will be its summary."""
    context = settings(runtime)
    if context.answer_type == "long" and context.sure_parts != "summaries":
        return await propose_candidates(state, runtime)
    return await propose_facts(state, runtime)
