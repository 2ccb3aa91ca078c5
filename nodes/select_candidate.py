"""SuRe's choice of a candidate by its summary."""

from langgraph.runtime import Runtime

from quorum.algorithms.sure_choice import choose, validity_of
from quorum.core.context import Context, settings
from quorum.core.state import State
from quorum.core.text import UNKNOWN
from quorum.nodes.answer import answered
from quorum.nodes.evidence import evidence_for
from quorum.parsing.yes_no import yes_no_answer


async def select(state: State, runtime: Runtime[Context]) -> State:
    """candidates, summaries, verdicts, preferences -> answer, rationale, validity, scores, confidence, evidence.

    One candidate is the answer, and none is unknown. While comparisons are missing, scores and confidence are null.
    """
    candidates, summaries = state.get("candidates") or [], state.get("summaries") or []
    if not candidates:
        return {**answered(UNKNOWN), "evidence": []}
    validity = validity_of(state.get("verdicts") or [])
    choice = choose(len(candidates), validity, state.get("preferences") or [])
    chosen, rationale = candidates[choice.best], summaries[choice.best] if summaries else None
    return {
        **answered(in_form(chosen, rationale, settings(runtime).answer_type)),
        "rationale": rationale,
        "validity": validity,
        "scores": choice.scores,
        "confidence": choice.margin,
        "evidence": evidence_for(chosen, state["passages"]),
    }


def in_form(candidate: str, summary: str | None, answer_type: str) -> str:
    """The answer that a candidate stands for: yes or no as one word, a long answer by its summary."""
    if answer_type == "yes_no":
        return yes_no_answer(candidate).value
    return summary if answer_type == "long" and summary else candidate
