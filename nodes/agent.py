"""The nodes of the method agent: turns of a model that calls a search tool, and what the searches find.

The loop is ReAct's (Yao et al. 2023, section 2), with the tool called as servers offer it; the limits are those of
Search-o1 (Li et al. 2025).
"""

from dataclasses import replace
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Overwrite

from quorum.core.context import Context, get_context
from quorum.core.state import State, Step, ToolUse, Turn
from quorum.core.text import UNKNOWN
from quorum.models.call import Reply
from quorum.models.tools import write_call
from quorum.nodes.agent_calls import SEARCH, is_faulty, make_seed_turn, may_call, plan_calls
from quorum.nodes.agent_messages import list_turn_steps, mark_unshown_passages, number_passages
from quorum.nodes.answer_types import note_brief_answer_type
from quorum.nodes.ask import count_replies, read_replies
from quorum.nodes.send_messages import SentTurn, send_turn
from quorum.nodes.steps import get_steps, make_outcome, normalize_yes_no_answer
from quorum.parsing.answers import Parsed, ReasonedAnswer, parse_reasoned_answer
from quorum.parsing.written_calls import is_written_call
from quorum.prompts.escape import undo_escapes
from quorum.prompts.steps import AGENT
from quorum.retrievers.documents import UnorderedDocumentsError, find_neighbours

NEIGHBOUR_TOKENS = 1000  # of the text that open_document shows


async def note_seed(state: State) -> State:
    """question, passages -> turns, steps (one each: the search for the question itself)."""
    turns = number_passages([make_seed_turn(state["question"])], {"seed": state["passages"]})
    return {"turns": turns, "steps": make_steps(turns[0])}


async def agent_turn(state: State, runtime: Runtime[Context]) -> State:
    """question, turns, steps -> turns (one more, if the reply calls tools), steps (one more, if it answers)."""
    turns, max_steps = get_turns(state), get_context(runtime).max_steps
    may_search = may_call(turns, max_steps)
    sent = await send_turn(state["question"], turns, runtime, may_search=may_search)
    shown_turns = mark_unshown_passages(turns, sent.shown_numbers)
    steps = keep_shown_passages(get_steps(state), turns, shown_turns)
    calls = plan_calls(sent.reply.tool_calls, shown_turns, max_steps) if may_search else []
    if not calls:
        return {"turns": shown_turns, **await read_answer(state["question"], steps, sent, runtime)}
    new_turn = Turn(text=undo_escapes(sent.reply.text), calls=calls)
    return {"turns": [*shown_turns, new_turn], "steps": steps, **count_calls(sent, calls)}


async def open_document(state: State, runtime: Runtime[Context]) -> State:
    """rank, passages (the one to open), given_passages -> passages_by_query (one item: what stands around it)."""
    (passage,), given_passages = state["passages"], state.get("given_passages")
    try:
        found = await find_neighbours(passage, get_context(runtime), NEIGHBOUR_TOKENS, given_passages)
    except UnorderedDocumentsError:
        found = [passage]
    ids = [passage["id"] for passage in found]
    return {"passages_by_query": [{"rank": state["rank"], "retrieved": ids, "passages": found}]}


async def collect_observations(state: State, runtime: Runtime[Context]) -> State:
    """turns, passages_by_query, steps -> turns (the last one with what its calls found), steps (one per search)."""
    turns = get_turns(state)
    items = sorted(state.get("passages_by_query") or [], key=lambda item: item["rank"])
    calls = turns[-1]["calls"]
    turns = number_passages(turns, {calls[item["rank"]]["id"]: item["passages"] for item in items})
    update: dict[str, Any] = {
        "turns": turns,
        "steps": [*get_steps(state), *make_steps(turns[-1])],
        "passages_by_query": Overwrite([]),
    }
    if get_context(runtime).context_filter:
        ids = [id_ for item in items if calls[item["rank"]]["tool"] == SEARCH for id_ in item["retrieved"]]
        update["retrieved"] = list(dict.fromkeys([*(state.get("retrieved") or []), *ids]))
    return update  # type: ignore[return-value]  # the type checker does not know Overwrite


async def finish_agent(state: State) -> State:
    """steps, answer_text -> answer, rationale (thoughts and searches), passages (all that were shown)."""
    steps = get_steps(state)
    lines = [line for step in steps for line in (step["thought"], step["query"] and f"Search: {step['query']}") if line]
    return make_outcome(steps, "\n".join(lines), state.get("answer_text"))


def get_turns(state: State) -> list[Turn]:
    """The turns so far, oldest first."""
    return state.get("turns") or []


def make_steps(turn: Turn) -> list[Step]:
    """A step for each search of a turn."""
    return [
        Step(thought=thought, query=query, passages=passages, answer=None)
        for thought, query, passages in list_turn_steps(turn)
    ]


def keep_shown_passages(steps: list[Step], turns: list[Turn], shown_turns: list[Turn]) -> list[Step]:
    """The steps; those of the last turn keep only the passages that a prompt has shown."""
    if turns == shown_turns:
        return steps
    last_steps = make_steps(shown_turns[-1])
    return [*steps[: len(steps) - len(last_steps)], *last_steps]


async def read_answer(question: str, steps: list[Step], sent: SentTurn, runtime: Runtime[Context]) -> State:
    """The update with the answer of a turn without calls, as a last step."""
    prompt = AGENT.read_with(
        lambda reply: normalize_yes_no_answer(parse_last_reply(reply, question), question, runtime)
    )
    replies = await read_replies(
        prompt,
        [show_calls(sent.reply)],
        sent.shown,
        passages=sent.passages,
        inputs={"question": question},
        context=sent.context,
        model=sent.model,
        overrides=sent.overrides,
        cuts_later=True,
    )
    answer = replies.values[0]
    step = Step(thought=answer.rationale or "", query=None, passages=[], answer=answer.answer)
    return {
        "steps": [*steps, step],
        "answer_text": replies.texts[0] or None,
        **note_brief_answer_type(AGENT, question, runtime),
        **replies.state_update,
    }


def parse_last_reply(reply: str, question: str) -> Parsed[ReasonedAnswer]:
    """The answer in a reply without calls. A call that is written as text is malformed, and its answer unknown."""
    parsed = parse_reasoned_answer(reply, question)
    # A reply may think in such marks and then answer in the form asked for.
    is_call = is_written_call(reply) and (parsed.malformed or reply.lstrip().startswith(("{", "[", "`")))
    return Parsed(ReasonedAnswer(UNKNOWN, None), malformed=True) if is_call else parsed


def count_calls(sent: SentTurn, calls: list[ToolUse]) -> State:
    """The counters of a turn with calls. Its reply is malformed if one of its calls is."""
    is_malformed = any(map(is_faulty, calls))
    return count_replies(AGENT.name, [show_calls(sent.reply)], [is_malformed], len(sent.passages) - len(sent.shown))


def show_calls(reply: Reply) -> Reply:
    """The reply, whose raw text also shows the calls in it, for those who read what was malformed."""
    return replace(reply, raw="\n".join(text for text in (reply.raw, *map(write_call, reply.tool_calls)) if text))
