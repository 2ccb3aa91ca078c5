"""Golden traces: the (node, update) pairs that a run with a scripted model must give, for every branch.

Here are concat, pruning, summary and the methods with post-fusion; the other methods have test files of their own.
`trace_method` shortens the updates: passages to their ids ("p1 p2"), a vote to "RANK ANSWER" with the rank from 0 and
"?" for unknown, evidence to "ID START-END", and malformed replies to {PROMPT: [REPLY, ...]}.
"""

from typing import Any

import pytest
from method_fixtures import (
    EVIDENCE_STEP,
    FIRST_STEPS,
    NO_EVIDENCE_STEP,
    PASSAGES,
    QUESTION,
    script_passage_answers,
    trace_method,
)

from quorum.core.context import Context
from quorum.core.errors import CallError, SetupError
from quorum.graphs import METHODS, answer
from quorum.models.scripted import ScriptedModel
from quorum.prompts import BUILT_IN

KNOWN_ANSWER = {"answer": "1931", "unknown": False, "confidence": None}
UNKNOWN_ANSWER = {"answer": "unknown", "unknown": True, "confidence": None}


def make_evidence_step(evidence: str, voter_without_evidence: str) -> tuple[str, dict[str, Any]]:
    """The step that finds the evidence of a vote, and the passage that voted for the answer but does not contain it."""
    return ("find_evidence", {"evidence": [evidence], "voters_without_evidence": [voter_without_evidence]})


def make_vote_step(rank: int, *answers: str) -> tuple[str, dict[str, Any]]:
    """The step in which the passage of this rank votes, once for each answer."""
    return ("passage_answer", {"votes": [f"{rank} {answer}" for answer in answers]})


async def test_concat_answers_from_all_passages_in_one_call() -> None:
    assert await trace_method("concat", ScriptedModel().on("answer", "1931")) == [
        *FIRST_STEPS,
        ("concat_answer", {**KNOWN_ANSWER, "passages": "p1 p2 p3"}),
        EVIDENCE_STEP,
    ]


async def test_concat_without_an_answer_is_unknown() -> None:
    assert await trace_method("concat", ScriptedModel().on("answer", "The passages do not say.")) == [
        *FIRST_STEPS,
        (
            "concat_answer",
            {**UNKNOWN_ANSWER, "answer_text": "The passages do not say.", "passages": "p1 p2 p3"},
        ),
        NO_EVIDENCE_STEP,
    ]


async def test_concat_with_samples_takes_the_majority() -> None:
    model = ScriptedModel().on("answer", "1950", "1931", "1931.", "unknown")
    assert await trace_method("concat", model, samples=4, temperature=0.7) == [
        *FIRST_STEPS,
        ("concat_answer", {**KNOWN_ANSWER, "confidence": 0.5, "passages": "p1 p2 p3"}),
        EVIDENCE_STEP,
    ]


async def test_concat_with_an_empty_reply_is_unknown() -> None:
    assert await trace_method("concat", ScriptedModel().on("answer", "")) == [
        *FIRST_STEPS,
        ("concat_answer", {**UNKNOWN_ANSWER, "passages": "p1 p2 p3", "malformed": {"answer": [""]}}),
        NO_EVIDENCE_STEP,
    ]


@pytest.mark.parametrize(("method", "node"), [("pruning", "pruned_answer"), ("summary", "summarized_answer")])
async def test_reasoning_prompts_give_answer_and_rationale(method: str, node: str) -> None:
    assert await trace_method(method, ScriptedModel().on(method, "Passage 2 is out.\nAnswer: 1931.")) == [
        *FIRST_STEPS,
        (
            node,
            {
                "answer": "1931",
                "unknown": False,
                "rationale": "Passage 2 is out.",
                "passages": "p1 p2 p3",
            },
        ),
        EVIDENCE_STEP,
    ]


@pytest.mark.parametrize(("method", "node"), [("pruning", "pruned_answer"), ("summary", "summarized_answer")])
async def test_a_reasoning_reply_may_be_both_malformed_and_unknown(method: str, node: str) -> None:
    assert await trace_method(method, ScriptedModel().on(method, "All are out.\nI don't know.")) == [
        *FIRST_STEPS,
        (
            node,
            {
                "answer": "unknown",
                "answer_text": "I don't know",
                "unknown": True,
                "rationale": "All are out.",
                "passages": "p1 p2 p3",
                "malformed": {method: ["All are out.\nI don't know."]},
            },
        ),
        NO_EVIDENCE_STEP,
    ]


async def test_post_fusion_asks_each_passage_and_votes() -> None:
    assert await trace_method("post_fusion", script_passage_answers("1931", "1950", "in 1931")) == [
        *FIRST_STEPS,
        make_vote_step(0, "1931"),
        make_vote_step(1, "1950"),
        make_vote_step(2, "1931"),
        ("vote", {**KNOWN_ANSWER, "confidence": 2 / 3}),
        EVIDENCE_STEP,
    ]


async def test_post_fusion_tie_goes_to_the_highest_ranked_passage() -> None:
    model = script_passage_answers("unknown", "1950", "1931", "1931", "1950.")
    steps = await trace_method("post_fusion", model, k=5)
    assert steps[-2:] == [
        ("vote", {"answer": "1950", "unknown": False, "confidence": 0.5}),
        make_evidence_step("p2 29-33", "p5"),
    ]


async def test_post_fusion_is_unknown_if_every_passage_is() -> None:
    assert await trace_method("post_fusion", script_passage_answers("unknown", "I don't know", "")) == [
        *FIRST_STEPS,
        make_vote_step(0, "?"),
        make_vote_step(1, "?"),
        (make_vote_step(2, "?")[0], {**make_vote_step(2, "?")[1], "malformed": {"answer": [""]}}),
        ("vote", UNKNOWN_ANSWER),
        NO_EVIDENCE_STEP,
    ]


async def test_post_fusion_with_samples_counts_every_sample_as_a_vote() -> None:
    model = script_passage_answers(["1931", "1950"], ["1950", "1950"], ["unknown", "unknown"])
    assert await trace_method("post_fusion", model, samples=2, temperature=0.7) == [
        *FIRST_STEPS,
        make_vote_step(0, "1931", "1950"),
        make_vote_step(1, "1950", "1950"),
        make_vote_step(2, "?", "?"),
        ("vote", {"answer": "1950", "unknown": False, "confidence": 0.75}),
        make_evidence_step("p2 29-33", "p1"),
    ]


async def test_post_fusion_staged_stops_when_decided() -> None:
    assert await trace_method("post_fusion", script_passage_answers("1931", "1931"), vote="staged") == [
        *FIRST_STEPS,
        make_vote_step(0, "1931"),
        make_vote_step(1, "1931"),
        ("vote", KNOWN_ANSWER),
        make_evidence_step("p1 32-36", "p2"),
    ]


async def test_post_fusion_staged_goes_on_while_the_vote_is_open() -> None:
    assert await trace_method(
        "post_fusion", script_passage_answers("1931", "1950", "unknown", "1931"), k=5, vote="staged"
    ) == [
        ("begin", {}),
        ("retrieve", {"passages": "p1 p2 p3 p4 p5"}),
        make_vote_step(0, "1931"),
        make_vote_step(1, "1950"),
        make_vote_step(2, "?"),
        ("vote", KNOWN_ANSWER),
        make_vote_step(3, "1931"),
        ("vote", KNOWN_ANSWER),
        make_evidence_step("p1 32-36", "p4"),
    ]


async def test_concat_pf_with_a_known_answer_asks_no_passage_alone() -> None:
    assert await trace_method("concat_pf", ScriptedModel().on("answer", "1931")) == [
        *FIRST_STEPS,
        ("concat_answer", {**KNOWN_ANSWER, "passages": "p1 p2 p3"}),
        ("unknown_check", {"unknown": False}),
        EVIDENCE_STEP,
    ]


async def test_concat_pf_with_an_unknown_answer_asks_each_passage() -> None:
    model = script_passage_answers("1931", "unknown", "1931").on("answer", "unknown")
    assert await trace_method("concat_pf", model) == [
        *FIRST_STEPS,
        ("concat_answer", {**UNKNOWN_ANSWER, "passages": "p1 p2 p3"}),
        ("unknown_check", {"unknown": True}),
        make_vote_step(0, "1931"),
        make_vote_step(1, "?"),
        make_vote_step(2, "1931"),
        ("vote", {**KNOWN_ANSWER, "confidence": 1.0}),
        EVIDENCE_STEP,
    ]


async def test_concat_pf_is_unknown_if_both_rounds_are() -> None:
    model = script_passage_answers("unknown", "unknown", "unknown").on("answer", "unknown")
    assert (await trace_method("concat_pf", model))[-2:] == [("vote", UNKNOWN_ANSWER), NO_EVIDENCE_STEP]


async def test_concat_pf_falls_back_when_most_samples_are_unknown() -> None:
    model = script_passage_answers(["1931"] * 3, ["unknown"] * 3, ["1950"] * 3).on(
        "answer", "unknown", "1950", "Unknown."
    )
    steps = await trace_method("concat_pf", model, samples=3, temperature=0.7)
    assert steps[2] == ("concat_answer", {**UNKNOWN_ANSWER, "confidence": 2 / 3, "passages": "p1 p2 p3"})
    assert steps[-2:] == [
        ("vote", {**KNOWN_ANSWER, "confidence": 0.5}),
        ("find_evidence", {"evidence": ["p1 32-36"]}),
    ]


async def test_speculative_concat_pf_with_a_known_answer_ignores_the_votes() -> None:
    model = script_passage_answers("1950", "1950", "1950").on("answer", "1931")
    assert await trace_method("concat_pf", model, speculative=True) == [
        *FIRST_STEPS,
        ("both_rounds", {**KNOWN_ANSWER, "passages": "p1 p2 p3", "votes": ["0 1950", "1 1950", "2 1950"]}),
        ("unknown_check", {"unknown": False, "votes": []}),
        EVIDENCE_STEP,
    ]


async def test_speculative_concat_pf_with_an_unknown_answer_takes_the_vote() -> None:
    model = script_passage_answers("1931", "unknown", "1931").on("answer", "unknown")
    assert await trace_method("concat_pf", model, speculative=True) == [
        *FIRST_STEPS,
        ("both_rounds", {**UNKNOWN_ANSWER, "passages": "p1 p2 p3", "votes": ["0 1931", "1 ?", "2 1931"]}),
        ("unknown_check", {"unknown": True}),
        ("vote", {**KNOWN_ANSWER, "confidence": 1.0}),
        EVIDENCE_STEP,
    ]


async def test_speculative_concat_pf_runs_a_staged_vote() -> None:
    model = script_passage_answers("1931", "1950", "1950").on("answer", "unknown")
    steps = await trace_method("concat_pf", model, speculative=True, vote="staged")
    assert [node for node, _ in steps[2:]] == [
        *("both_rounds", "unknown_check", "vote", "passage_answer", "vote", "find_evidence"),
    ]
    assert steps[2][1]["votes"] == ["0 1931", "1 1950"]
    assert steps[-2][1]["answer"] == "1950"


async def test_pf_concat_reads_the_passages_that_answered() -> None:
    model = script_passage_answers("1931", "unknown", "1950").on("answer_candidates", "1931")
    assert await trace_method("pf_concat", model) == [
        *FIRST_STEPS,
        make_vote_step(0, "1931"),
        make_vote_step(1, "?"),
        make_vote_step(2, "1950"),
        ("keep_answered", {"passages": "p1 p3", "candidates": ["1931", "1950"]}),
        ("distill_answer", {**KNOWN_ANSWER, "passages": "p1 p3"}),
        EVIDENCE_STEP,
    ]


async def test_pf_concat_asks_all_passages_together_if_each_alone_is_unknown() -> None:
    model = script_passage_answers("unknown", "unknown", "unknown").on("answer", "1931")
    assert (await trace_method("pf_concat", model))[5:] == [
        ("keep_answered", {"passages": "p1 p2 p3", "candidates": []}),
        ("concat_answer", {**KNOWN_ANSWER, "passages": "p1 p2 p3"}),
        EVIDENCE_STEP,
    ]


async def test_pf_concat_draws_samples_in_both_rounds() -> None:
    model = script_passage_answers(["unknown", "1931"], ["unknown", "unknown"], ["1931.", "1950"])
    model.on("answer_candidates", "unknown", "1931")
    steps = await trace_method("pf_concat", model, samples=2, temperature=0.7)
    assert steps[5:] == [
        ("keep_answered", {"passages": "p1 p3", "candidates": ["1931", "1950"]}),
        ("distill_answer", {**UNKNOWN_ANSWER, "confidence": 0.5, "passages": "p1 p3"}),
        NO_EVIDENCE_STEP,
    ]


async def test_pf_concat_asks_every_passage_whatever_the_vote() -> None:
    model = script_passage_answers("1931", "1931", "1931").on("answer_candidates", "1931")
    assert [node for node, _ in await trace_method("pf_concat", model, vote="staged")].count("passage_answer") == 3


@pytest.mark.parametrize("method", METHODS)
async def test_a_failed_call_fails_the_run(method: str) -> None:
    for error in (CallError("the server is gone", 500), SetupError("the key is refused")):
        model = ScriptedModel()
        for name in BUILT_IN:
            model.on(name, *[error] * 5)
        with pytest.raises(type(error), match=str(error)):
            await answer(QUESTION, method, Context(model=model, attempts=1), given=PASSAGES[:3])
