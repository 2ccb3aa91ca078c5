"""Nodes that summarize the passages: in favour of one candidate, or whatever is relevant to the question."""

from langgraph.runtime import Runtime

from quorum.core.citation_marks import strip_marks
from quorum.core.context import Context, get_context
from quorum.core.lettered_lists import format_lettered_list, get_letter
from quorum.core.state import CandidateSummary, State, select_counters
from quorum.nodes.answer_types import resolve_sure_answer_type
from quorum.nodes.ask import ask
from quorum.nodes.citations import cites
from quorum.prompts.sure import CONDITIONAL_SUMMARY, GENERIC_SUMMARY


async def summarize_candidate(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, candidates, rank -> candidate_summaries (one)."""
    candidates, rank = state["candidates"] or [], state["rank"]
    context = resolve_sure_answer_type(get_context(runtime), state["question"])
    replies = await ask(
        CONDITIONAL_SUMMARY.for_answer_type("long" if cites(context) else "short"),
        runtime,
        question=state["question"],
        choices=format_lettered_list(candidates),
        prediction=f"({get_letter(rank)}) {candidates[rank]}",
        passages=state["passages"],
        call_subject=f"candidate {rank + 1}",
    )
    summary = CandidateSummary(rank=rank, text=replies.values[0], shown=len(replies.shown))
    # `collect_summaries` counts the dropped passages.
    return {"candidate_summaries": [summary], **select_counters(replies.state_update), "dropped": 0}


async def collect_summaries(state: State, runtime: Runtime[Context]) -> State:
    """candidate_summaries, passages -> summaries (in the candidates' order; those that may become a long answer without
    the marks of cited passages), passages (those in every prompt).
    """
    is_long = resolve_sure_answer_type(get_context(runtime), state["question"]).answer_type == "long"
    ordered_summaries = sorted(state.get("candidate_summaries") or [], key=lambda summary: summary["rank"])
    shown = state["passages"][: min(summary["shown"] for summary in ordered_summaries)]
    dropped_count = len(state["passages"]) - len(shown)
    return {
        "summaries": [strip_marks(summary["text"]) if is_long else summary["text"] for summary in ordered_summaries],
        "passages": shown,
        "dropped": dropped_count,
    }


async def summarize(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> summaries (one, of what is relevant to the question), passages (those in the prompt)."""
    replies = await ask(GENERIC_SUMMARY, runtime, question=state["question"], passages=state["passages"])
    return {"summaries": replies.values, "passages": replies.shown, **replies.state_update}
