"""Makes the branches of a fan-out. Each gets only the part of the state that it needs."""

from langgraph.types import Send

from quorum.algorithms.sure_choice import choose_next_pairs, list_pairs, list_validity
from quorum.algorithms.vote_key import VOTE_KEYS
from quorum.algorithms.votes import size_next_stage
from quorum.core.context import Context
from quorum.core.state import State
from quorum.nodes.agent_calls import OPEN_DOCUMENT, find_passage, is_carried_out, list_calls
from quorum.nodes.agent_messages import describe_call
from quorum.nodes.steps import omit_query_equal_to_question


def send_validations(state: State) -> list[Send]:
    """One `validate` per candidate, with the summary of that candidate only. A single candidate is not validated."""
    candidates, summaries = state["candidates"] or [], state["summaries"] or []
    return [
        Send(
            "validate", {"question": state["question"], "rank": rank, "candidates": [candidate], "summaries": [summary]}
        )
        for rank, (candidate, summary) in enumerate(zip(candidates, summaries, strict=True))
        if len(candidates) > 1
    ]


def send_comparisons(state: State, lazy: bool) -> list[Send]:
    """One `rank_pair` for each order of each pair of summaries.

    lazy: send only the pairs to compare next (`choose_next_pairs`); none if no comparison can change the choice.
    """
    summaries = state.get("summaries") or []
    validity, preferences = list_validity(state.get("summary_validities") or []), state.get("preferences") or []
    pairs = choose_next_pairs(len(summaries), validity, preferences) if lazy else list_pairs(len(summaries))
    return [
        Send("rank_pair", {"question": state["question"], "pair": [*pair], "summaries": [summaries[n] for n in pair]})
        for pair in pairs
    ]


def send_tool_calls(state: State) -> list[Send]:
    """One `search_tool` or `open_document` for each call of the last turn that is carried out."""
    turns = state.get("turns") or []
    shared_state = {key: state.get(key) for key in ("question", "given_passages", "given_gold_answers")}
    sends = []
    for rank, call in enumerate(turns[-1]["calls"]):
        if not is_carried_out(call):
            continue
        if call["tool"] == OPEN_DOCUMENT:
            passage = find_passage(call["arguments"]["passage"], list_calls(turns))
            sends.append(Send("open_document", {**shared_state, "rank": rank, "passages": [passage]}))
        else:
            query = omit_query_equal_to_question(describe_call(call), state["question"])
            sends.append(Send("search_tool", {**shared_state, "rank": rank, "query": query, "passages": []}))
    return sends


def list_ranks_to_ask(state: State, context: Context) -> list[int]:
    """The ranks of the passages to ask about now: of all passages not asked about yet or, in a staged vote, of as many
    of them as could decide the vote.
    """
    votes = state.get("votes") or []
    asked_ranks = {vote["rank"] for vote in votes}
    unasked_ranks = [rank for rank in range(len(state["passages"])) if rank not in asked_ranks]
    if context.vote != "staged":
        return unasked_ranks
    key = VOTE_KEYS[context.answer_measure]
    return unasked_ranks[: size_next_stage(votes, len(unasked_ranks), context.samples, key)]


def send_passages(node: str, state: State, ranks: range | list[int]) -> list[Send]:
    """Send the passage of each rank to the node, together with the question and the rank."""
    passages = state["passages"]
    return [Send(node, {"question": state["question"], "rank": rank, "passages": [passages[rank]]}) for rank in ranks]
