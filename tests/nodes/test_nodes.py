"""Every node, called directly."""

from typing import Any

import pytest
from langgraph.types import Overwrite, Send
from method_fixtures import PASSAGES, QUESTION, make_runtime, script_passage_answers

from quorum.core.errors import CallError, SetupError, TooLong
from quorum.core.state import Evidence, Passage, State, Vote
from quorum.models.scripted import ScriptedModel
from quorum.nodes.answer import concat_answer, distill_answer, passage_answer, pruned_answer, summarized_answer
from quorum.nodes.begin import begin
from quorum.nodes.evidence import find_evidence
from quorum.nodes.keep_answered import keep_answered
from quorum.nodes.retrieve import retrieve
from quorum.nodes.routes import (
    ask_all_then_keep,
    ask_passages,
    continue_vote,
    fall_back_if_unknown,
    start_one_or_both_rounds,
)
from quorum.nodes.unknown import unknown_check
from quorum.nodes.vote import vote

STATE = State(question=QUESTION, passages=PASSAGES[:3])


def ballots(*answers: str) -> list[Vote]:
    return [Vote(rank=i, passage=f"p{i + 1}", answer=a, unknown=a == "?") for i, a in enumerate(answers)]


async def test_begin_resets_every_key_of_an_earlier_question() -> None:
    update: dict[str, Any] = dict(await begin({"question": QUESTION, "given": PASSAGES, "dropped": 3}, make_runtime()))
    assert update.pop("provided") == PASSAGES
    assert update == {
        "given": None,
        "gold_answers": None,
        "oracle": None,
        "query": None,
        "steps": [],
        "answer": "",
        "unknown": True,
        "confidence": None,
        "certified": None,
        "unsupported": None,
        "rationale": None,
        "evidence": [],
        "votes": Overwrite(None),
        "candidates": None,
        "summaries": None,
        "validity": None,
        "scores": None,
        "drafts": Overwrite([]),
        "verdicts": Overwrite([]),
        "preferences": Overwrite([]),
        "passages": [],
        "turn": 0,
        "notes": None,
        "rationales": None,
        "masked": None,
        "verified": Overwrite([]),
        "retrieved": None,
        "reasoning": None,
        "external": None,
        "internal": None,
        "topic": None,
        "earlier": [],
        "run": None,
        "suppressed": None,
        "judgement": None,
        "queries": None,
        "knowledge": Overwrite([]),
        "usage": Overwrite({}),
        "malformed": Overwrite({}),
        "verbose": Overwrite({}),
        "not_greedy": Overwrite(False),
        "dropped": Overwrite(0),
    }


@pytest.mark.parametrize("question", ["", "  \n", None, 5])
async def test_begin_refuses_an_empty_question(question: Any) -> None:
    with pytest.raises(SetupError, match="The question is empty"):
        await begin({"question": question}, make_runtime())


async def test_begin_refuses_unusable_passages() -> None:
    with pytest.raises(SetupError, match="list of given passages is empty"):
        await begin({"question": QUESTION, "given": []}, make_runtime())
    with pytest.raises(SetupError, match="Given passage 2: expected a passage"):
        await begin({"question": QUESTION, "given": [PASSAGES[0], {"id": "x"}]}, make_runtime())  # type: ignore[typeddict-item]


async def test_retrieve_takes_the_first_k_of_the_provided_passages() -> None:
    assert await retrieve({"question": QUESTION, "provided": PASSAGES}, make_runtime(k=2)) == {"passages": PASSAGES[:2]}


async def test_concat_answer() -> None:
    model = ScriptedModel().on("answer", "1931.")
    update: dict[str, Any] = dict(await concat_answer(STATE, make_runtime(model)))
    assert update.pop("usage")["answer"]["calls"] == 1
    assert update == {
        "answer": "1931",
        "unknown": False,
        "confidence": None,
        "evidence": [Evidence(passage="p1", start=32, end=36), Evidence(passage="p3", start=33, end=37)],
        "passages": PASSAGES[:3],
        "malformed": {},
        "dropped": 0,
    }
    assert model.history[0].text.endswith(f"Question: {QUESTION}\nAnswer:")


@pytest.mark.parametrize(
    ("replies", "answer", "confidence"),
    [
        (["1931", "1950", "In 1950", "1931."], "1931", 0.5),
        (["1950", "unknown", "I don't know"], "unknown", 2 / 3),
        (["unknown", "1931"], "unknown", 0.5),
        (["1931", "unknown"], "1931", 0.5),
    ],
)
async def test_unknown_counts_as_an_answer_among_samples(replies: list[str], answer: str, confidence: float) -> None:
    model = ScriptedModel().on("answer", *replies)
    update = await concat_answer(STATE, make_runtime(model, samples=len(replies), temperature=0.7))
    assert (update["answer"], update["unknown"]) == (answer, answer == "unknown")
    assert update["confidence"] == pytest.approx(confidence)
    assert update["usage"]["answer"]["calls"] == len(replies)


async def test_a_refusal_becomes_unknown_without_evidence() -> None:
    update = await concat_answer(STATE, make_runtime(ScriptedModel().on("answer", "The passages do not say.")))
    assert (update["answer"], update["unknown"], update["evidence"]) == ("unknown", True, [])


async def test_passage_answer_votes_once_per_sample() -> None:
    model = script_passage_answers("", ["1950", "**Unknown**"])
    state = State(question=QUESTION, rank=1, passages=[PASSAGES[1]])
    update = await passage_answer(state, make_runtime(model, samples=2, temperature=0.7))
    assert update["votes"] == [
        Vote(rank=1, passage="p2", answer="1950", unknown=False),
        Vote(rank=1, passage="p2", answer="Unknown", unknown=True),
    ]
    assert [sent.name for sent in model.history] == ["answer: passage 2"] * 2
    assert "[1] Iron Mast" in model.history[0].text
    assert "Lumen Tower was" not in model.history[0].text


@pytest.mark.parametrize(("node", "prompt"), [(pruned_answer, "pruning"), (summarized_answer, "summary")])
async def test_reasoned_answers_keep_their_rationale(node: Any, prompt: str) -> None:
    update = await node(STATE, make_runtime(ScriptedModel().on(prompt, "Passage 2 is out.\nAnswer: 1931")))
    assert (update["answer"], update["unknown"], update["rationale"]) == ("1931", False, "Passage 2 is out.")
    assert [evidence["passage"] for evidence in update["evidence"]] == ["p1", "p3"]
    assert update["malformed"] == {}


async def test_malformed_replies_are_stored_and_replaced_by_the_default() -> None:
    update = await pruned_answer(STATE, make_runtime(ScriptedModel().on("pruning", "It was\n1931.")))
    assert update["answer"] == "1931"
    assert update["malformed"] == {"pruning": {"count": 1, "replies": ["It was\n1931."]}}


async def test_keep_answered_drops_passages_that_said_unknown() -> None:
    state = State(passages=PASSAGES[:3], votes=[*ballots("?", "1931", "1950"), *ballots("?", "?", "1931.")])
    update = await keep_answered(state)
    assert update == {"passages": PASSAGES[1:3], "candidates": ["1931", "1950"]}


async def test_keep_answered_keeps_all_when_all_said_unknown() -> None:
    update = await keep_answered(State(passages=PASSAGES[:2], votes=ballots("?", "?")))
    assert update == {"passages": PASSAGES[:2], "candidates": []}


async def test_distill_answer_sees_the_candidates() -> None:
    model = ScriptedModel().on("answer_candidates", "1931")
    state = State(question=QUESTION, passages=[PASSAGES[0], PASSAGES[1]], candidates=["1931", "1950"])
    assert (await distill_answer(state, make_runtime(model)))["answer"] == "1931"
    assert "\n- 1931\n- 1950\n" in model.history[0].text


async def test_distill_answer_without_candidates_is_the_base_prompt() -> None:
    model = ScriptedModel().on("answer", "1931", "1931")
    await distill_answer({**STATE, "candidates": []}, make_runtime(model))
    await concat_answer(STATE, make_runtime(model))
    assert model.history[0].text == model.history[1].text


async def test_unknown_check() -> None:
    assert await unknown_check({"answer": "unknown"}) == {"unknown": True}
    assert await unknown_check({"answer": "1931"}) == {"unknown": False}


async def test_vote_names_its_voters_as_evidence() -> None:
    update = await vote({"passages": PASSAGES, "votes": ballots("1931", "1950", "1931", "?", "1931")}, make_runtime())
    assert update == {
        "answer": "1931",
        "unknown": False,
        "confidence": 0.75,
        "evidence": [
            Evidence(passage="p1", start=32, end=36),
            Evidence(passage="p3", start=33, end=37),
            Evidence(passage="p5", start=None, end=None),
        ],
        "unsupported": [],
    }


async def test_a_voter_that_does_not_contain_its_answer_is_no_evidence() -> None:
    """A model that says Paris to everything."""
    update = await vote({"passages": PASSAGES, "votes": ballots(*["Paris"] * 5)}, make_runtime())
    assert (update["answer"], update["evidence"]) == ("Paris", [])
    assert update["unsupported"] == ["p1", "p2", "p3", "p4", "p5"]


async def test_a_voter_supports_the_answer_in_its_own_words() -> None:
    texts = ["Finished on 4 July 1776.", "It was done in 1777.", "July 4th, 1776 saw it finished.", "Done 1776-07-04."]
    passages = [Passage(id=str(rank), title="", text=text) for rank, text in enumerate(texts)]
    votes = ballots("July 4, 1776", "4 July 1776", "July 4th, 1776", "the 4th of July 1776")
    update = await vote({"passages": passages, "votes": votes}, make_runtime())
    assert update["evidence"] == [
        Evidence(passage="0", start=None, end=None),
        Evidence(passage="2", start=0, end=14),
        Evidence(passage="3", start=None, end=None),
    ]
    assert update["unsupported"] == ["1"]


async def test_a_long_answer_has_all_its_voters_as_evidence() -> None:
    votes = ballots("It is tall and old.", "It is tall and old.")
    for answer_type, answer in (("long", votes), ("yes_no", ballots("yes", "yes")), ("short", ballots("no", "no"))):
        update = await vote({"passages": PASSAGES, "votes": answer}, make_runtime(answer_type=answer_type))
        assert update["evidence"] == [Evidence(passage=item, start=None, end=None) for item in ("p1", "p2")]
        assert update["unsupported"] == []


async def test_a_staged_vote_has_no_confidence() -> None:
    assert (await vote({"passages": PASSAGES, "votes": ballots("1931")}, make_runtime(vote="staged")))[
        "confidence"
    ] is None
    nothing = await vote({"passages": PASSAGES, "votes": ballots("?", "?")}, make_runtime())
    assert nothing == {"answer": "unknown", "unknown": True, "confidence": None, "evidence": [], "unsupported": []}


def test_evidence_is_a_verbatim_span_of_whole_words() -> None:
    texts = ["The US must pay; the us did.", "He must.", "U.S. troops", "New\n York", "東京に住む", "Saint-Denis"]
    passages = [Passage(id=str(i), title="", text=text) for i, text in enumerate(texts)]
    assert find_evidence("US", passages) == [
        Evidence(passage="0", start=4, end=6),
        Evidence(passage="2", start=None, end=None),  # after normalisation only
    ]
    assert find_evidence("new york", passages) == [Evidence(passage="3", start=0, end=9)]
    assert find_evidence("東京", passages) == [Evidence(passage="4", start=0, end=2)]
    assert find_evidence("1931", PASSAGES)[-1] == Evidence(passage="p5", start=None, end=None)  # in the title only


@pytest.mark.parametrize("answer", ["unknown", "yes", "No", ""])
def test_no_evidence_by_words_for_unknown_yes_and_no(answer: str) -> None:
    passage = Passage(id="x", title="", text="No, yes, unknown.")
    assert find_evidence(answer, [passage]) == []


async def test_the_lowest_ranked_passages_are_dropped_whole_to_fit_the_window() -> None:
    long = [Passage(id=str(i), title="", text=f"{i} " + "word " * 100) for i in range(5)]
    model = ScriptedModel().on("answer", "1931")
    update = await concat_answer({"question": QUESTION, "passages": long}, make_runtime(model, context_window=640))
    assert [passage["id"] for passage in update["passages"]] == ["0", "1"]
    assert update["dropped"] == 3
    assert long[1]["text"].strip() in model.history[0].text
    assert "[3]" not in model.history[0].text


async def test_an_unknown_answer_keeps_the_dropped_passages_for_the_next_round() -> None:
    long = [Passage(id=str(i), title="", text="word " * 100) for i in range(5)]
    model = ScriptedModel().on("answer", "unknown")
    update = await concat_answer({"question": QUESTION, "passages": long}, make_runtime(model, context_window=640))
    assert (len(update["passages"]), update["dropped"]) == (5, 3)


async def test_a_prompt_that_the_server_finds_too_long_is_sent_again_without_its_last_passage() -> None:
    model = ScriptedModel().on("answer", TooLong("no"), TooLong("no"), "1931")
    update = await concat_answer(STATE, make_runtime(model))
    assert (update["answer"], update["dropped"], update["passages"]) == ("1931", 2, PASSAGES[:1])
    assert update["usage"]["answer"]["calls"] == 1


async def test_a_passage_that_does_not_fit_alone_is_an_error() -> None:
    state = State(question=QUESTION, passages=[Passage(id="tome", title="", text="word " * 9000)])
    with pytest.raises(CallError, match=r"'answer' does not fit .* with passage 'tome' alone .* window has 8192"):
        await concat_answer(state, make_runtime())


async def test_a_passage_that_does_not_fit_alone_is_dropped_from_the_vote() -> None:
    state = State(question=QUESTION, rank=2, passages=[Passage(id="tome", title="", text="word " * 9000)])
    update = await passage_answer(state, make_runtime(samples=2))
    assert (update["dropped"], [vote["unknown"] for vote in update["votes"]]) == (1, [True, True])
    assert {vote["rank"] for vote in update["votes"]} == {2}


async def test_the_model_profile_gives_the_window() -> None:
    model = ScriptedModel(profile={"max_input_tokens": 640}).on("answer", "1931")
    long = [Passage(id=str(i), title="", text="word " * 100) for i in range(5)]
    assert (await concat_answer({"question": QUESTION, "passages": long}, make_runtime(model)))["dropped"] == 3


async def test_a_prompt_over_an_empty_list_of_passages_says_so() -> None:
    model = ScriptedModel().on("answer", "Unknown")
    assert (await concat_answer({"question": QUESTION, "passages": []}, make_runtime(model)))["unknown"]
    assert "[1]" not in model.history[0].text


async def test_prompt_overrides_reach_the_model() -> None:
    model = ScriptedModel().on("answer", "1931")
    await concat_answer(STATE, make_runtime(model, prompts={"answer": "Costs $$1. $passages | $question"}))
    assert model.history[0].text.startswith("Costs $1. [1] Lumen Tower")


def ranks(sends: Any) -> list[int]:
    return [send.arg["rank"] for send in sends]


def test_routes_send_each_branch_only_its_part_of_the_state() -> None:
    assert ask_all_then_keep(STATE, make_runtime())[1] == Send(
        "passage_answer", {"question": QUESTION, "rank": 1, "passages": [PASSAGES[1]]}
    )
    assert ranks(ask_passages(STATE, make_runtime())) == [0, 1, 2]
    assert ranks(ask_passages(STATE, make_runtime(vote="staged"))) == [0, 1]


def test_routes_without_passages_go_on_to_the_join() -> None:
    empty = State(question=QUESTION, passages=[], unknown=True)
    assert ask_all_then_keep(empty, make_runtime()) == "keep_answered"
    assert ask_passages(empty, make_runtime()) == "vote"
    assert fall_back_if_unknown(empty, make_runtime()) == "vote"
    assert start_one_or_both_rounds(empty, make_runtime(speculative=True)) == ["concat_answer"]


def test_routes_of_the_fallback() -> None:
    unknown = State(question=QUESTION, passages=PASSAGES[:3], unknown=True)
    assert fall_back_if_unknown({**unknown, "unknown": False}, make_runtime()) == "__end__"
    assert ranks(fall_back_if_unknown(unknown, make_runtime())) == [0, 1, 2]
    assert fall_back_if_unknown({**unknown, "votes": ballots("?", "?", "?")}, make_runtime()) == "vote"
    assert start_one_or_both_rounds(unknown, make_runtime()) == ["concat_answer"]
    both = start_one_or_both_rounds(unknown, make_runtime(speculative=True))
    assert (both[0], ranks(both[1:])) == ("concat_answer", [0, 1, 2])


def test_routes_of_the_staged_vote() -> None:
    state = State(question=QUESTION, passages=PASSAGES, votes=ballots("a", "b", "?"))
    assert continue_vote(state, make_runtime()) == [
        Send("passage_answer", {"question": QUESTION, "rank": rank, "passages": [PASSAGES[rank]]}) for rank in (3, 4)
    ]
    assert ranks(continue_vote(state, make_runtime(vote="staged"))) == [3]
    assert continue_vote({**state, "votes": ballots("a", "a", "a")}, make_runtime(vote="staged")) == "__end__"
    assert continue_vote({**state, "votes": ballots(*"abcde")}, make_runtime()) == "__end__"
