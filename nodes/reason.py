"""Few-shot chain of thought: reasoning first, the answer taken from it (Wei et al. 2022)."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.state import State
from quorum.nodes.answer import answered
from quorum.nodes.ask import Asked, ask
from quorum.nodes.demonstrations import demonstrations, variant
from quorum.nodes.evidence import evidence_for
from quorum.parsing.answers import Parsed, Reasoned, short_answer
from quorum.parsing.reasoning import concluded, concluded_yes_no, free_text
from quorum.parsing.yes_no import yes_no_answer
from quorum.prompts.passages import numbered_or_none

T = TypeVar("T")


async def reason(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> reasoning, passages (shown)."""
    asked = await chain_of_thought(state, runtime, free_text)
    return {"reasoning": asked.values[0], "passages": asked.shown, **asked.update}


async def extract_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, reasoning, passages -> answer, rationale, evidence."""
    question, reasoning = state["question"], state.get("reasoning") or ""
    prompt = variant("extract_answer", runtime)
    parse = yes_no_answer if prompt.endswith("_yes_no") else short_answer
    inputs = {"question": question, "reasoning": reasoning}
    asked = await ask(prompt, runtime, parse=partial(parse, question=question), inputs=inputs, passages=None)
    return {
        **answered(asked.values[0]),
        "rationale": concluded(reasoning, question).value.rationale or reasoning or None,
        "evidence": evidence_for(asked.values[0], state["passages"]),
        **asked.update,
    }


async def cot_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> rationale, answer, evidence, passages (shown)."""
    asked = await chain_of_thought(state, runtime, conclusion_for(runtime))
    return {**outcome(asked), "passages": asked.shown}


async def cot_from_memory(state: State, runtime: Runtime[Context]) -> State:
    """question -> rationale, answer."""
    return outcome(await chain_of_thought(state, runtime, conclusion_for(runtime), memory=True))


async def chain_of_thought(
    state: State,
    runtime: Runtime[Context],
    parse: Callable[[str, str], Parsed[T]],
    *,
    detail: str = "",
    memory: bool = False,
) -> Asked[T]:
    """The reasoning prompt, asked once: over the state's passages, or without any from memory."""
    question = state["question"]
    shots = await demonstrations(runtime, reasoned=True, passages=not memory)
    return await ask(
        variant("reason_from_memory" if memory else "reason", runtime),
        runtime,
        parse=lambda reply: parse(reply, question),
        inputs={"question": question, "demonstrations": shots},
        passages=None if memory else state["passages"],
        layout=numbered_or_none,
        detail=detail,
    )


def conclusion_for(runtime: Runtime[Context]) -> Callable[[str, str], Parsed[Reasoned]]:
    """The parser of a chain of thought that ends in an answer of the context's type."""
    return concluded_yes_no if variant("reason", runtime).endswith("_yes_no") else concluded


def outcome(asked: Asked[Reasoned]) -> State:
    found = asked.values[0]
    return {
        **answered(found.answer),
        "rationale": found.rationale,
        "evidence": evidence_for(found.answer, asked.shown),
        **asked.update,
    }
