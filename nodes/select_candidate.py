"""The node that chooses one of SuRe's candidates by comparing their summaries."""

from langgraph.runtime import Runtime

from quorum.algorithms.sure_choice import choose_candidate, list_validity
from quorum.core.context import Context, get_context
from quorum.core.state import State
from quorum.core.text import UNKNOWN
from quorum.nodes.answer import make_answer
from quorum.nodes.answer_types import resolve_sure_answer_type
from quorum.nodes.citations import cites
from quorum.parsing.yes_no import parse_yes_no


async def select_candidate(state: State, runtime: Runtime[Context]) -> State:
    """question, candidates, summaries, summary_validities, preferences -> answer, rationale, validity, scores,
    confidence, quote (the candidate).

    A single candidate is the answer; without candidates the answer is unknown. Scores and confidence are None for a
    single candidate, and while comparisons of candidates are missing; with `ranking=lazy` some may never be made.
    """
    candidates, summaries = state.get("candidates") or [], state.get("summaries") or []
    context = resolve_sure_answer_type(get_context(runtime), state["question"])
    if not candidates:
        return make_answer(UNKNOWN)
    validity = list_validity(state.get("summary_validities") or [])
    choice = choose_candidate(len(candidates), validity, state.get("preferences") or [])
    chosen_candidate, rationale = candidates[choice.best], summaries[choice.best] if summaries else None
    answer = format_candidate(chosen_candidate, rationale, context.answer_type)
    text = find_long_text(state, choice.best, context) or answer
    return {
        **make_answer(answer, text=text if context.answer_type == "long" else chosen_candidate),
        "rationale": rationale,
        "validity": validity,
        "scores": choice.scores,
        "confidence": choice.margin,
        "quote": chosen_candidate,
    }


def find_long_text(state: State, rank: int, context: Context) -> str | None:
    """The summary of the candidate with this rank as it was written, with its marks; None if it has none, or the
    setting `citations` is off.
    """
    summaries = (state.get("candidate_summaries") or []) if cites(context) else []
    return next((summary["text"] for summary in summaries if summary["rank"] == rank), None)


def format_candidate(candidate: str, summary: str | None, answer_type: str) -> str:
    """The answer for a candidate: for a yes/no question one word, for a long answer the summary, else the candidate
    itself.
    """
    if answer_type == "yes_no":
        return parse_yes_no(candidate).value
    return summary if answer_type == "long" and summary else candidate
