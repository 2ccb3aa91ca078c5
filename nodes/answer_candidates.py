"""Answers from candidates or summaries, without validity and ranking: SuRe's ablations."""

from functools import partial

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.lettered_lists import lettered
from quorum.core.state import State
from quorum.nodes.answer import answered
from quorum.nodes.answer_types import facts_only
from quorum.nodes.ask import ask
from quorum.nodes.evidence import evidence_for
from quorum.parsing.answers import short_answer
from quorum.parsing.choices import chosen_candidate


async def answer_from_summaries(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, summaries -> answer. The base prompt with the summaries appended."""
    question, fact = state["question"], facts_only("answer_summaries", runtime)
    asked = await ask(
        "answer_summaries",
        runtime,
        parse=partial(short_answer, question=question),
        inputs={"question": question, "summaries": state["summaries"] or []},
        passages=state["passages"],
    )
    answer = fact(asked.values[0])
    evidence = evidence_for(answer, asked.shown)
    return {**answered(answer), "evidence": evidence, "passages": asked.shown, **asked.update}


async def answer_from_choices(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, candidates -> answer. The base prompt with the candidates as choices."""
    candidates, fact = state["candidates"] or [], facts_only("answer_choices", runtime)
    asked = await ask(
        "answer_choices",
        runtime,
        parse=partial(chosen_candidate, candidates=candidates, question=state["question"]),
        inputs={"question": state["question"], "choices": lettered(candidates)},
        passages=state["passages"],
    )
    answer = fact(asked.values[0])
    evidence = evidence_for(answer, asked.shown)
    return {**answered(answer), "evidence": evidence, "passages": asked.shown, **asked.update}


async def answer_from_summary(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, summaries (one) -> answer, rationale. The summary alone is read; evidence is looked up."""
    question, (summary,), fact = state["question"], state["summaries"] or [], facts_only("answer_summary", runtime)
    asked = await ask(
        "answer_summary",
        runtime,
        parse=partial(short_answer, question=question),
        inputs={"question": question, "summary": summary},
        passages=None,
    )
    answer = fact(asked.values[0])
    evidence = evidence_for(answer, state["passages"])
    return {**answered(answer), "rationale": summary, "evidence": evidence, **asked.update}
