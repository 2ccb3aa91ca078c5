"""Every branch of every graph. A router reads the state and names the next node; nothing else decides."""

from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Send

from core.context import Context, settings
from core.state import State
from core.votes import next_stage


def every_passage(state: State) -> list[Send] | Literal["keep_answered"]:
    """Fan out: one `passage_answer` per passage, which keeps its rank."""
    return sends("passage_answer", state, range(len(state["passages"]))) or "keep_answered"


def each_passage(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["vote"]:
    """Fan out to all passages or, when the vote is staged, to as many as could decide it."""
    return sends("passage_answer", state, to_ask(state, settings(runtime))) or "vote"


def more_votes(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["__end__"]:
    """A staged vote that is open: the next passages. Decided, or all asked: end."""
    return sends("passage_answer", state, to_ask(state, settings(runtime))) or "__end__"


def one_or_both_rounds(state: State, runtime: Runtime[Context]) -> list[Send | Literal["concat_answer"]]:
    """The first round; when speculative, with the fallback's questions at the same time."""
    context = settings(runtime)
    ahead = to_ask(state, context) if context.speculative else []
    return ["concat_answer", *sends("passage_answer_ahead", state, ahead)]


def fall_back_if_unknown(state: State, runtime: Runtime[Context]) -> list[Send] | Literal["vote", "__end__"]:
    """Known answer: end. Unknown: ask every passage, or vote at once where they were asked ahead."""
    if not state["unknown"]:
        return "__end__"
    return "vote" if state.get("votes") else each_passage(state, runtime)


def to_ask(state: State, context: Context) -> list[int]:
    """The ranks of the passages to ask now: all that were not asked or, when staged, the next that could decide."""
    votes = state.get("votes") or []
    asked = {vote["rank"] for vote in votes}
    waiting = [rank for rank in range(len(state["passages"])) if rank not in asked]
    return waiting[: next_stage(votes, len(waiting), context.samples)] if context.vote == "staged" else waiting


def sends(node: str, state: State, ranks: range | list[int]) -> list[Send]:
    """One `node` for each passage, with the part of the state that it needs."""
    passages = state["passages"]
    return [Send(node, {"question": state["question"], "rank": rank, "passages": [passages[rank]]}) for rank in ranks]
