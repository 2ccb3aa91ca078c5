"""Nodes that summarize the passages: in favour of one candidate, or whatever is relevant to the question."""

from langgraph.runtime import Runtime

from quorum.core.context import Context
from quorum.core.lettered_lists import format_lettered_list, get_letter
from quorum.core.state import Draft, State, select_counters
from quorum.nodes.ask import ask
from quorum.parsing.summaries import parse_summary


async def summarize_candidate(state: State, runtime: Runtime[Context]) -> State:
    """question, passages, candidates, rank -> drafts (one)."""
    candidates, rank = state["candidates"] or [], state["rank"]
    replies = await ask(
        "conditional_summary",
        runtime,
        parse=parse_summary,
        inputs={
            "question": state["question"],
            "choices": format_lettered_list(candidates),
            "prediction": f"({get_letter(rank)}) {candidates[rank]}",
        },
        passages=state["passages"],
        detail=f"candidate {rank + 1}",
    )
    draft = Draft(rank=rank, text=replies.values[0], shown=len(replies.shown))
    # `collect_summaries` counts the dropped passages.
    return {"drafts": [draft], **select_counters(replies.state_update), "dropped": 0}


async def collect_summaries(state: State) -> State:
    """drafts, passages -> summaries (in the candidates' order), passages (those that every summary's prompt showed)."""
    drafts = sorted(state["drafts"], key=lambda draft: draft["rank"])
    shown = state["passages"][: min(draft["shown"] for draft in drafts)]
    dropped = len(state["passages"]) - len(shown)
    return {"summaries": [draft["text"] for draft in drafts], "passages": shown, "dropped": dropped}


async def summarize(state: State, runtime: Runtime[Context]) -> State:
    """question, passages -> summaries (one, of what is relevant to the question), passages (shown)."""
    inputs = {"question": state["question"]}
    replies = await ask("generic_summary", runtime, parse=parse_summary, inputs=inputs, passages=state["passages"])
    return {"summaries": replies.values, "passages": replies.shown, **replies.state_update}
