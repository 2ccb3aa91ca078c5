"""Inference from one passage after the other."""

from functools import partial

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.errors import TooLong
from quorum.core.state import State
from quorum.nodes.answer import answered
from quorum.nodes.answer_types import facts_only
from quorum.nodes.ask import ask
from quorum.nodes.evidence import evidence_for
from quorum.parsing.statements import noted_answer


async def infer(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, turn, notes -> notes, answer, by one passage more; turn (Creswell et al. 2022: inference)."""
    question, passages, turn, notes = state["question"], state["passages"], state["turn"], state["notes"]
    fact = facts_only("inference", runtime)
    try:
        asked = await ask(
            "inference",
            runtime,
            parse=partial(noted_answer, question=question),
            inputs={"question": question, "notes": notes or ""},
            passages=passages[turn : turn + 1],
            detail=f"passage {turn + 1}",
        )
    except TooLong:  # the passages before and after it can be read
        return {**answered(state["answer"]), "turn": turn + 1, "dropped": 1}
    found = asked.values[0]
    answer, notes = fact(found.answer), found.rationale or notes
    return {
        **answered(answer),
        "notes": notes,
        "rationale": notes,
        "turn": turn + 1,
        **asked.update,
    }


async def cite(state: State) -> State:
    """answer, passages -> evidence."""
    return {"evidence": evidence_for(state["answer"], state["passages"])}
