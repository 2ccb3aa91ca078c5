"""The node `vote`, and the evidence for an answer. A voter is a passage; its vote is the answer that it led to."""

import pytest
from method_fixtures import PASSAGES, make_runtime, make_votes

from quorum.core.state import Evidence, Passage, State, Voter
from quorum.nodes.evidence import list_evidence
from quorum.nodes.find_evidence import find_evidence
from quorum.nodes.vote import vote

ASKED: State = {"question": "When?", "passages": PASSAGES}


async def vote_with_evidence(state: State) -> State:
    """The state after the nodes `vote` and `find_evidence`."""
    voted: State = {**state, **await vote(state, make_runtime())}
    return {**voted, **await find_evidence(voted, make_runtime())}


async def test_the_voters_for_the_winner_are_its_evidence() -> None:
    state: State = {**ASKED, "votes": make_votes("1931", "1950", "1931", "?", "1931")}
    update = await vote(state, make_runtime())
    assert update == {
        "answer": "1931",
        "answer_text": "1931",
        "unknown": False,
        "confidence": 0.75,
        "voters": [Voter(rank=rank, answer="1931") for rank in (0, 2, 4)],
        "voters_without_evidence": [],
    }
    assert await find_evidence({**state, **update}, make_runtime()) == {
        "evidence": [
            Evidence(passage="p1", start=32, end=36),
            Evidence(passage="p3", start=33, end=37),
            Evidence(passage="p5", start=None, end=None),  # "1931" is in its title only
        ],
        "voters_without_evidence": [],
    }


async def test_a_voter_that_does_not_contain_its_answer_is_no_evidence() -> None:
    """For example, if a model answers Paris to every question."""
    update = await vote_with_evidence({**ASKED, "votes": make_votes(*["Paris"] * 5)})
    assert (update["answer"], update["evidence"]) == ("Paris", [])
    assert update["voters_without_evidence"] == ["p1", "p2", "p3", "p4", "p5"]


async def test_a_voter_may_support_the_answer_in_other_words() -> None:
    texts = ["Finished on 4 July 1776.", "It was done in 1777.", "July 4th, 1776 saw it finished.", "Done 1776-07-04."]
    passages = [Passage(id=str(rank), title="", text=text) for rank, text in enumerate(texts)]
    votes = make_votes("July 4, 1776", "4 July 1776", "July 4th, 1776", "the 4th of July 1776")
    update = await vote_with_evidence({"question": "When?", "passages": passages, "votes": votes})
    assert update["evidence"] == [
        Evidence(passage="0", start=None, end=None),
        Evidence(passage="2", start=0, end=14),
        Evidence(passage="3", start=None, end=None),
    ]
    assert update["voters_without_evidence"] == ["1"]


async def test_an_answer_that_is_no_span_has_all_its_voters_as_evidence() -> None:
    for answer_type, votes in (
        ("long", make_votes("It is tall and old.", "It is tall and old.")),
        ("yes_no", make_votes("yes", "yes")),
        ("short", make_votes("no", "no")),
    ):
        update = await vote_with_evidence({**ASKED, "votes": votes, "answer_type": answer_type})
        assert update["evidence"] == [Evidence(passage=item, start=None, end=None) for item in ("p1", "p2")]
        assert update["voters_without_evidence"] == []


async def test_a_staged_vote_has_no_confidence() -> None:
    update = await vote({**ASKED, "votes": make_votes("1931")}, make_runtime(vote="staged"))
    assert update["confidence"] is None


async def test_a_vote_without_any_answer_is_unknown_and_has_no_confidence() -> None:
    update = await vote({**ASKED, "votes": make_votes("?", "?")}, make_runtime())
    assert update == {
        "answer": "unknown",
        "answer_text": None,
        "unknown": True,
        "confidence": None,
        "voters_without_evidence": [],
    }


def test_evidence_is_a_verbatim_span_of_whole_words() -> None:
    texts = ["The US must pay; the us did.", "He must.", "U.S. troops", "New\n York", "東京に住む", "Saint-Denis"]
    passages = [Passage(id=str(i), title="", text=text) for i, text in enumerate(texts)]
    assert list_evidence("US", passages) == [
        Evidence(passage="0", start=4, end=6),
        Evidence(passage="2", start=None, end=None),  # equal only after normalisation, so there is no span
    ]
    assert list_evidence("new york", passages) == [Evidence(passage="3", start=0, end=9)]
    assert list_evidence("東京", passages) == [Evidence(passage="4", start=0, end=2)]
    assert list_evidence("1931", PASSAGES)[-1] == Evidence(passage="p5", start=None, end=None)  # in the title only


@pytest.mark.parametrize("answer", ["unknown", "yes", "No", ""])
def test_unknown_yes_and_no_have_no_evidence_even_if_a_passage_contains_them(answer: str) -> None:
    passage = Passage(id="x", title="", text="No, yes, unknown.")
    assert list_evidence(answer, [passage]) == []
