"""The nodes that answer, called directly."""

from typing import Any, cast

import pytest
from method_fixtures import PASSAGES, QUESTION, STATE, make_runtime, make_votes

from quorum.core.state import Evidence, State, Vote
from quorum.models.scripted import ScriptedModel
from quorum.nodes.answer import concat_answer, distill_answer, passage_answer, pruned_answer, summarized_answer
from quorum.nodes.find_evidence import find_evidence
from quorum.nodes.keep_answered import keep_answered
from quorum.nodes.unknown import unknown_check


async def test_concat_answer_returns_answer_evidence_and_passages() -> None:
    model = ScriptedModel().on("answer", "1931.")
    update: dict[str, Any] = dict(await concat_answer(STATE, make_runtime(model)))
    assert update.pop("usage")["answer"]["calls"] == 1
    assert update == {
        "answer": "1931",
        "answer_text": "1931.",
        "unknown": False,
        "confidence": None,
        "passages": PASSAGES[:3],
        "malformed": {},
        "dropped": 0,
    }
    evidence = [Evidence(passage="p1", start=32, end=36), Evidence(passage="p3", start=33, end=37)]
    assert await find_evidence(cast(State, {**STATE, **update}), make_runtime()) == {"evidence": evidence}
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
    assert (update["answer"], update["unknown"]) == ("unknown", True)
    assert await find_evidence({**STATE, **update}, make_runtime()) == {"evidence": []}


async def test_passage_answer_votes_once_per_sample() -> None:
    model = ScriptedModel().on("answer: passage 2", "1950", "**Unknown**")
    state = State(question=QUESTION, rank=1, passages=[PASSAGES[1]])
    update = await passage_answer(state, make_runtime(model, samples=2, temperature=0.7))
    assert update["votes"] == [
        Vote(rank=1, passage="p2", answer="1950", answer_text="1950", unknown=False),
        Vote(rank=1, passage="p2", answer="Unknown", answer_text="**Unknown**", unknown=True),
    ]
    assert [sent.name for sent in model.history] == ["answer: passage 2"] * 2
    assert "[1] Iron Mast" in model.history[0].text
    assert "Lumen Tower was" not in model.history[0].text


@pytest.mark.parametrize(("node", "prompt_name"), [(pruned_answer, "pruning"), (summarized_answer, "summary")])
async def test_reasoned_answers_keep_their_rationale(node: Any, prompt_name: str) -> None:
    update = await node(STATE, make_runtime(ScriptedModel().on(prompt_name, "Passage 2 is out.\nAnswer: 1931")))
    assert (update["answer"], update["unknown"], update["rationale"]) == ("1931", False, "Passage 2 is out.")
    assert update["malformed"] == {}


async def test_a_malformed_reply_is_stored_and_the_parser_still_returns_an_answer() -> None:
    update = await pruned_answer(STATE, make_runtime(ScriptedModel().on("pruning", "It was\n1931.")))
    assert update["answer"] == "1931"
    assert update["malformed"] == {"pruning": {"count": 1, "replies": ["It was\n1931."]}}


async def test_keep_answered_drops_passages_whose_answers_are_all_unknown() -> None:
    # Each of the three passages has two votes. Only the first passage has no known answer.
    state = State(passages=PASSAGES[:3], votes=[*make_votes("?", "1931", "1950"), *make_votes("?", "?", "1931.")])
    update = await keep_answered(state, make_runtime())
    assert update == {"passages": PASSAGES[1:3], "candidates": ["1931", "1950"]}


async def test_keep_answered_keeps_all_passages_if_every_answer_is_unknown() -> None:
    update = await keep_answered(State(passages=PASSAGES[:2], votes=make_votes("?", "?")), make_runtime())
    assert update == {"passages": PASSAGES[:2], "candidates": []}


async def test_distill_answer_sees_the_candidates() -> None:
    model = ScriptedModel().on("answer_candidates", "1931")
    state = State(question=QUESTION, passages=[PASSAGES[0], PASSAGES[1]], candidates=["1931", "1950"])
    assert (await distill_answer(state, make_runtime(model)))["answer"] == "1931"
    assert "\n- 1931\n- 1950\n" in model.history[0].text


async def test_distill_answer_without_candidates_sends_the_prompt_of_concat_answer() -> None:
    model = ScriptedModel().on("answer", "1931", "1931")
    await distill_answer({**STATE, "candidates": []}, make_runtime(model))
    await concat_answer(STATE, make_runtime(model))
    assert model.history[0].text == model.history[1].text


async def test_unknown_check_reads_the_answer() -> None:
    assert await unknown_check({"answer": "unknown"}) == {"unknown": True}
    assert await unknown_check({"answer": "1931"}) == {"unknown": False}


async def test_without_passages_the_prompt_is_sent_and_shows_none() -> None:
    model = ScriptedModel().on("answer", "Unknown")
    assert (await concat_answer({"question": QUESTION, "passages": []}, make_runtime(model)))["unknown"]
    assert "[1]" not in model.history[0].text


async def test_prompt_overrides_reach_the_model() -> None:
    model = ScriptedModel().on("answer", "1931")
    await concat_answer(STATE, make_runtime(model, prompts={"answer": "Costs $$1. $passages | $question"}))
    assert model.history[0].text.startswith("Costs $1. [1] Lumen Tower")
