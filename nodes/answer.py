"""Answering: over all passages at once, or from one passage."""

from functools import partial

from langgraph.runtime import Runtime

from quorum.algorithms.votes import agreement
from quorum.core.context import Context, settings
from quorum.core.errors import TooLong
from quorum.core.labels import is_silent
from quorum.core.state import State, Vote
from quorum.core.text import UNKNOWN, is_unknown
from quorum.nodes.answer_types import facts_only, form_of
from quorum.nodes.ask import ask
from quorum.nodes.evidence import evidence_for
from quorum.parsing.answers import reasoned_answer


async def concat_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> answer, by agreement of the samples. An unknown keeps all passages for a next round."""
    update = await over_all("answer", state, runtime)
    return update | {"passages": state["passages"]} if update["unknown"] else update


async def distill_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, candidates -> answer. Without candidates it is the base prompt again."""
    candidates = state.get("candidates")
    return await over_all("answer_candidates" if candidates else "answer", state, runtime, candidates)


async def passage_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, rank, passages (one) -> votes (one per sample); a passage too long to be read is dropped, unknown."""
    question, rank, passages, samples = state["question"], state["rank"], state["passages"], settings(runtime).samples
    prompt, parse = form_of("answer", question, runtime)
    try:
        asked = await ask(
            prompt,
            runtime,
            parse=parse,
            inputs={"question": question},
            passages=passages,
            detail=f"passage {rank + 1}",
            n=samples,
        )
    except TooLong:
        silent = Vote(rank=rank, passage=passages[0]["id"], answer=UNKNOWN, unknown=True)
        return {"votes": [silent] * samples, "dropped": 1}
    kind, passage = settings(runtime).answer_type, passages[0]["id"]
    votes = [Vote(rank=rank, passage=passage, answer=a, unknown=is_silent(a, kind)) for a in asked.values]
    return {"votes": votes, **asked.update}


async def pruned_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> rationale, answer, by elimination."""
    return await reasoned("pruning", state, runtime)


async def summarized_answer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> rationale, answer, by a summary."""
    return await reasoned("summary", state, runtime)


async def over_all(prompt: str, state: State, runtime: Runtime[Context], candidates: list[str] | None = None) -> State:
    """The answer that most samples agree on (Wang et al. 2022), unknown being an answer like any other."""
    question, samples = state["question"], settings(runtime).samples
    prompt, parse = form_of(prompt, question, runtime)
    asked = await ask(
        prompt,
        runtime,
        parse=parse,
        inputs={"question": question} | ({"candidates": candidates} if candidates else {}),
        passages=state["passages"],
        n=samples,
    )
    unknown = [is_silent(answer, settings(runtime).answer_type) for answer in asked.values]
    chosen, share = agreement(asked.values, unknown)
    return {
        **answered(asked.values[chosen], unknown[chosen]),
        "confidence": share if samples > 1 else None,
        "evidence": evidence_for(asked.values[chosen], asked.shown),
        "passages": asked.shown,
        **asked.update,
    }


async def reasoned(prompt: str, state: State, runtime: Runtime[Context]) -> State:
    """A chain of thought ends in a short fact or in yes or no; for other answer types it is a SetupError."""
    question, fact = state["question"], facts_only(prompt, runtime)
    asked = await ask(
        prompt,
        runtime,
        parse=partial(reasoned_answer, question=question),
        inputs={"question": question},
        passages=state["passages"],
    )
    found = asked.values[0]
    answer = fact(found.answer)
    return {
        **answered(answer),
        "rationale": found.rationale,
        "evidence": evidence_for(answer, asked.shown),
        "passages": asked.shown,
        **asked.update,
    }


def answered(answer: str, unknown: bool | None = None) -> State:
    """answer and unknown; an unknown in any wording is "unknown"."""
    unknown = is_unknown(answer) if unknown is None else unknown
    return {"answer": UNKNOWN if unknown else answer, "unknown": unknown}
