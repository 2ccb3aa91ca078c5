"""SuRe's base prompt: an answer of at most three words (Kim et al. 2024, listings 10 and 14)."""

from functools import partial

from langgraph.runtime import Runtime

from quorum.algorithms.votes import agreement
from quorum.core.context import Context, settings
from quorum.core.state import Passage, State
from quorum.core.text import is_unknown
from quorum.nodes.answer import answered, reasoned
from quorum.nodes.answer_types import facts_only
from quorum.nodes.ask import ask
from quorum.nodes.evidence import evidence_for
from quorum.nodes.example_pairs import example_pairs
from quorum.parsing.answers import short_answer


async def base_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> answer, by agreement of the samples."""
    return await briefly("answer_base", state, runtime, state["passages"])


async def closed_answer(state: State, runtime: Runtime[Context]) -> State:
    """question -> answer, from what the model knows, by agreement of the samples."""
    return await briefly("answer_base_closed", state, runtime, None)


async def stepwise_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> rationale, answer, step by step."""
    return await reasoned("zero_shot_cot", state, runtime)


async def briefly(prompt: str, state: State, runtime: Runtime[Context], passages: list[Passage] | None) -> State:
    question, samples, fact = state["question"], settings(runtime).samples, facts_only(prompt, runtime)
    asked = await ask(
        prompt,
        runtime,
        parse=partial(short_answer, question=question),
        inputs={"question": question, "examples": await example_pairs(runtime)},
        passages=passages,
        n=samples,
    )
    answers = [fact(answer) for answer in asked.values]
    chosen, share = agreement(answers, [is_unknown(answer) for answer in answers])
    return {
        **answered(answers[chosen]),
        "confidence": share if samples > 1 else None,
        "evidence": evidence_for(answers[chosen], asked.shown),
        "passages": asked.shown,
        **asked.update,
    }
