"""The routers of the methods with votes: for what reason the graph goes on where.

`STATE` has three passages; in `make_votes`, "?" is the vote of a passage without an answer.
"""

from typing import Any

from langgraph.types import Send
from method_fixtures import PASSAGES, QUESTION, STATE, make_runtime, make_votes

from quorum.core.state import State
from quorum.nodes.routes import (
    ask_all_at_once,
    ask_all_passages,
    ask_passages,
    continue_vote,
    distill_if_answered,
    fall_back_if_unknown,
    start_one_or_both_rounds,
)


def list_ranks(sends: Any) -> list[int]:
    return [send.arg["rank"] for send in sends]


def test_routes_send_each_branch_only_its_part_of_the_state() -> None:
    assert ask_all_passages(STATE, make_runtime())[1] == Send(
        "passage_answer", {"question": QUESTION, "rank": 1, "passages": [PASSAGES[1]]}
    )
    assert list_ranks(ask_passages(STATE, make_runtime())) == [0, 1, 2]
    # Two equal votes of three would decide a staged vote, so only two passages are asked about first.
    assert list_ranks(ask_passages(STATE, make_runtime(vote="staged"))) == [0, 1]


def test_without_passages_the_routes_skip_the_nodes_that_ask_about_each_passage() -> None:
    empty_state = State(question=QUESTION, passages=[], unknown=True)
    assert ask_all_passages(empty_state, make_runtime()) == "no passage"
    assert ask_passages(empty_state, make_runtime()) == "no passage"
    assert fall_back_if_unknown(empty_state, make_runtime()) == "none left to ask"
    assert ask_all_at_once(empty_state, make_runtime()) == ["first round"]


def test_routes_of_the_fallback() -> None:
    unknown_state = State(question=QUESTION, passages=PASSAGES[:3], unknown=True)
    assert fall_back_if_unknown({**unknown_state, "unknown": False}, make_runtime()) == "known"
    assert list_ranks(fall_back_if_unknown(unknown_state, make_runtime())) == [0, 1, 2]
    # All passages have voted already, as they have if `speculative` is set: no passage is left to ask about.
    voted_state: State = {**unknown_state, "votes": make_votes("?", "?", "?")}
    assert fall_back_if_unknown(voted_state, make_runtime()) == "none left to ask"
    assert start_one_or_both_rounds(unknown_state, make_runtime()) == "first round"
    assert start_one_or_both_rounds(unknown_state, make_runtime(speculative=True)) == "speculative"
    sends = ask_all_at_once(unknown_state, make_runtime())
    assert (sends[0], list_ranks(sends[1:])) == ("first round", [0, 1, 2])


def test_answers_are_distilled_only_if_a_passage_gave_one() -> None:
    assert distill_if_answered(State(candidates=["1931"])) == "some answered"
    assert distill_if_answered(State(candidates=[])) == "none answered"


def test_routes_of_the_staged_vote() -> None:
    state = State(question=QUESTION, passages=PASSAGES, votes=make_votes("a", "b", "?"))
    assert continue_vote(state, make_runtime()) == [
        Send("passage_answer", {"question": QUESTION, "rank": rank, "passages": [PASSAGES[rank]]}) for rank in (3, 4)
    ]
    assert list_ranks(continue_vote(state, make_runtime(vote="staged"))) == [3]
    assert continue_vote({**state, "votes": make_votes("a", "a", "a")}, make_runtime(vote="staged")) == "decided"
    assert continue_vote({**state, "votes": make_votes(*"abcde")}, make_runtime()) == "decided"
