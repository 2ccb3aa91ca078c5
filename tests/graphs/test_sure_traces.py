"""SuRe, multiple choice and sum-and-predict: the (node, update) pairs that a scripted run must give.

`trace_method` shortens the updates: passages are ids, and evidence is "id start-end".
"""

from itertools import groupby
from typing import Any

import pytest
from method_fixtures import EVIDENCE_STEP, NO_EVIDENCE_STEP, PASSAGES, QUESTION, trace_method

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.graphs import answer
from quorum.models.scripted import ScriptedModel

Steps = list[tuple[str, dict[str, Any]]]
FIRST_SUMMARY, SECOND_SUMMARY = "The tower was finished in 1931.", "The mast was painted in 1950."
STEPS_TO_CANDIDATES: Steps = [
    ("begin", {}),
    ("retrieve", {"passages": "p1 p2 p3"}),
    ("propose_candidates", {"candidates": ["1931", "1950"], "passages": "p1 p2 p3"}),
]
STEPS_TO_SUMMARIES: Steps = [
    *STEPS_TO_CANDIDATES,
    ("summarize_candidate", {"candidate_summaries": [{"rank": 0, "text": FIRST_SUMMARY, "shown": 3}]}),
    ("summarize_candidate", {"candidate_summaries": [{"rank": 1, "text": SECOND_SUMMARY, "shown": 3}]}),
    ("collect_summaries", {"summaries": [FIRST_SUMMARY, SECOND_SUMMARY], "passages": "p1 p2 p3"}),
]
CHOSEN_ANSWER = {"answer": "1931", "unknown": False, "rationale": FIRST_SUMMARY}
NO_SCORES = {"validity": None, "scores": None, "confidence": None}


def make_proposer(candidates: str = "(a) 1931 (b) 1950") -> ScriptedModel:
    """A model that proposes these candidates, at most two, and writes a summary for each."""
    model = ScriptedModel().on("candidates", candidates)
    model.on("conditional_summary: candidate 1", f"{FIRST_SUMMARY} [DONE]")
    return model.on("conditional_summary: candidate 2", f"{SECOND_SUMMARY} [DONE]")


def script_validity(model: ScriptedModel, *replies: str) -> ScriptedModel:
    """Script the replies to the validity prompts, one for each candidate."""
    for number, reply in enumerate(replies, start=1):
        model.on(f"validity: candidate {number}", reply)
    return model


def script_ranking(model: ScriptedModel, reply_1_first: str, reply_2_first: str) -> ScriptedModel:
    """Script the replies to the two ranking prompts, which show candidate 1 first and candidate 2 first."""
    return model.on("ranking: candidates 1 and 2", reply_1_first).on("ranking: candidates 2 and 1", reply_2_first)


async def trace_and_sort(method: str, model: ScriptedModel, **settings: Any) -> Steps:
    """The run's steps. Those of calls made at the same time are sorted, because they end in any order."""
    steps = await trace_method(method, model, **settings)
    group_of_node = {"validate": "judgement", "rank_pair": "judgement"}
    groups = groupby(steps, key=lambda step: group_of_node.get(step[0], step[0]))
    return [step for _, group in groups for step in sorted(group, key=lambda step: (step[0], str(step[1])))]


def make_ranking_step(first: int, preferred_candidate: int | None) -> tuple[str, dict[str, Any]]:
    return ("rank_pair", {"preferences": [{"first": first, "second": 1 - first, "preferred": preferred_candidate}]})


def make_validity_step(rank: int, valid: bool) -> tuple[str, dict[str, Any]]:
    return ("validate", {"summary_validities": [{"rank": rank, "valid": valid}]})


async def test_sure_chooses_by_validity_and_ranking() -> None:
    model = script_ranking(script_validity(make_proposer(), "False", "True"), "Passage 1", "Passage 2")
    assert await trace_and_sort("sure", model) == [
        *STEPS_TO_SUMMARIES,
        make_ranking_step(0, 0),
        make_ranking_step(1, 0),
        make_validity_step(0, False),
        make_validity_step(1, True),
        # the confidence is 0, which `trace_method` leaves out
        ("select_candidate", {**CHOSEN_ANSWER, "validity": [False, True], "scores": [1.0, 1.0]}),
        EVIDENCE_STEP,
    ]


async def test_validity_decides_if_the_comparisons_contradict_each_other() -> None:
    model = script_ranking(script_validity(make_proposer(), "No.", "Yes"), "Passage 1", "Passage 1")
    last, evidence_step = (await trace_and_sort("sure", model))[-2:]
    assert (last[1]["answer"], last[1]["rationale"]) == ("1950", SECOND_SUMMARY)
    assert (last[1]["scores"], last[1]["confidence"]) == ([0.5, 1.5], 0.5)
    assert evidence_step == ("find_evidence", {"evidence": ["p2 29-33"]})


async def test_lazy_ranking_is_skipped_where_it_cannot_matter() -> None:
    assert await trace_and_sort("sure", script_validity(make_proposer(), "True", "False"), ranking="lazy") == [
        *STEPS_TO_SUMMARIES,
        make_validity_step(0, True),
        make_validity_step(1, False),
        ("select_candidate", {**CHOSEN_ANSWER, **NO_SCORES, "validity": [True, False]}),
        EVIDENCE_STEP,
    ]


async def test_lazy_ranking_is_asked_where_it_can_matter() -> None:
    model = script_ranking(script_validity(make_proposer(), "True", "True"), "Passage 2", "Passage 1")
    steps = await trace_and_sort("sure", model, ranking="lazy")
    assert steps[len(STEPS_TO_SUMMARIES) :] == [
        make_validity_step(0, True),
        make_validity_step(1, True),
        ("select_candidate", {**CHOSEN_ANSWER, **NO_SCORES, "validity": [True, True]}),
        make_ranking_step(0, 1),
        make_ranking_step(1, 1),
        (
            "select_candidate",
            {
                "answer": "1950",
                "unknown": False,
                "rationale": SECOND_SUMMARY,
                "validity": [True, True],
                "scores": [1.0, 2.0],
                "confidence": 0.5,
            },
        ),
        ("find_evidence", {"evidence": ["p2 29-33"]}),
    ]


@pytest.mark.parametrize("ranking", ["eager", "lazy"])
async def test_without_validity_the_ranking_alone_decides(ranking: str) -> None:
    model = script_ranking(make_proposer(), "Passage 1", "Passage 2")
    assert await trace_and_sort("sure", model, sure_parts="ranking", ranking=ranking) == [
        *STEPS_TO_SUMMARIES,
        make_ranking_step(0, 0),
        make_ranking_step(1, 0),
        ("select_candidate", {**CHOSEN_ANSWER, "validity": None, "scores": [1.0, 0.0], "confidence": 1.0}),
        EVIDENCE_STEP,
    ]


async def test_with_sure_parts_summaries_one_prompt_answers_from_all_summaries() -> None:
    model = make_proposer().on("answer_summaries", "1931.")
    expected = {"answer": "1931", "unknown": False, "passages": "p1 p2 p3"}
    assert await trace_and_sort("sure", model, sure_parts="summaries") == [
        *STEPS_TO_SUMMARIES,
        ("answer_from_summaries", expected),
        EVIDENCE_STEP,
    ]
    sent = model.history[-1].text
    assert (
        sent.index(PASSAGES[2]["text"]) < sent.index(QUESTION) < sent.index(f"- {FIRST_SUMMARY}\n- {SECOND_SUMMARY}\n")
    )


@pytest.mark.parametrize("reply", ["(a) 1931", "(a) 1931 (b) 1931.", "1931", "(a) 1931 (b) unknown"])
@pytest.mark.parametrize("method", ["sure", "mcq"])
async def test_one_candidate_is_the_answer(method: str, reply: str) -> None:
    model = ScriptedModel().on("candidates", reply)
    steps = await trace_and_sort(method, model)
    expected = {
        "rationale": None,
        **NO_SCORES,
        "answer": "1931",
        "unknown": False,
    }
    assert [node for node, _ in steps[:-1]] == ["begin", "retrieve", "propose_candidates", "select_candidate"]
    assert steps[-1] == EVIDENCE_STEP
    assert (steps[2][1]["candidates"], steps[3][1]) == (["1931"], expected)
    assert steps[2][1].get("malformed") == ({"candidates": ["1931"]} if reply == "1931" else None)
    assert len(model.history) == 1


@pytest.mark.parametrize("reply", ["", "I don't know.", "(a) unknown (b) not stated", "The passages do not say."])
@pytest.mark.parametrize("method", ["sure", "mcq"])
async def test_without_a_candidate_the_answer_is_unknown(method: str, reply: str) -> None:
    model = ScriptedModel().on("candidates", reply)
    steps = await trace_and_sort(method, model)
    assert steps[-2:] == [("select_candidate", {"answer": "unknown", "unknown": True}), NO_EVIDENCE_STEP]
    assert len(model.history) == 1


async def test_an_unreadable_verdict_counts_as_false_and_an_unreadable_ranking_as_a_tie() -> None:
    model = script_ranking(script_validity(make_proposer(), "Hm.", "Hm."), "Hm.", "Passage 2")
    result = await answer(QUESTION, "sure", Context(model=model, k=3), given=PASSAGES)
    assert (result["answer"], result["scores"], result["validity"]) == ("1931", [0.75, 0.25], [False, False])
    assert result["malformed"] == {
        "validity": {"count": 2, "replies": ["Hm.", "Hm."]},
        "ranking": {"count": 1, "replies": ["Hm."]},
    }


async def test_mcq_chooses_among_the_candidates() -> None:
    model = ScriptedModel().on("candidates", "(a) 1950 (b) 1931").on("answer_choices", "(b) 1931")
    expected = {"answer": "1931", "unknown": False, "passages": "p1 p2 p3"}
    assert await trace_and_sort("mcq", model) == [
        *STEPS_TO_CANDIDATES[:2],
        ("propose_candidates", {"candidates": ["1950", "1931"], "passages": "p1 p2 p3"}),
        ("answer_from_choices", expected),
        EVIDENCE_STEP,
    ]
    assert "\nChoices: (a) 1950 (b) 1931\n" in model.history[-1].text


async def test_mcq_that_chooses_nothing_is_unknown() -> None:
    model = ScriptedModel().on("candidates", "(a) 1950 (b) 1931").on("answer_choices", "The passages do not say.")
    last = (await trace_and_sort("mcq", model))[-2][1]
    assert last == {
        "answer": "unknown",
        "answer_text": "The passages do not say.",
        "unknown": True,
        "passages": "p1 p2 p3",
    }


async def test_sum_and_pred_answers_from_a_summary() -> None:
    model = ScriptedModel().on("generic_summary", f"{FIRST_SUMMARY} [DONE]").on("answer_summary", "1931")
    assert await trace_and_sort("sum_and_pred", model) == [
        *STEPS_TO_CANDIDATES[:2],
        ("summarize", {"summaries": [FIRST_SUMMARY], "passages": "p1 p2 p3"}),
        ("answer_from_summary", CHOSEN_ANSWER),
        EVIDENCE_STEP,
    ]
    assert not any(passage["text"] in model.history[-1].text for passage in PASSAGES)
    assert FIRST_SUMMARY in model.history[-1].text


async def test_sure_compares_yes_with_no() -> None:
    model = (
        ScriptedModel().on("candidates", "(a) Yes, it was (b) No").on("conditional_summary", "It was.", "It was not.")
    )
    script_validity(script_ranking(model, "Passage 1", "Passage 2"), "True", "False")
    result = await answer("Was it?", "sure", Context(model=model, answer_type="yes_no"), given=PASSAGES)
    assert (result["answer"], result["evidence"], result["confidence"]) == ("yes", [], 1.0)


async def test_a_long_answer_is_the_chosen_summary() -> None:
    model = script_ranking(script_validity(make_proposer(), "True", "False"), "Passage 1", "Passage 2")
    context = Context(model=model, answer_type="long", citations="off", k=3)
    result = await answer(QUESTION, "sure", context, given=PASSAGES)
    assert (result["answer"], result["candidates"]) == (FIRST_SUMMARY, ["1931", "1950"])
    assert [evidence["passage"] for evidence in result["evidence"]] == ["p1", "p3"]


async def test_a_long_answer_from_one_candidate_is_its_summary() -> None:
    model = make_proposer("(a) 1931")
    context = Context(model=model, answer_type="long", citations="off")
    result = await answer(QUESTION, "sure", context, given=PASSAGES)
    assert (result["answer"], result["scores"], len(model.history)) == (FIRST_SUMMARY, None, 2)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("sure", {"answer_type": "label"}),
        ("sure", {"answer_type": "long", "sure_parts": "summaries"}),
        ("mcq", {"answer_type": "long"}),
    ],
)
async def test_answer_types_that_a_method_does_not_serve_are_refused_before_the_first_call(
    method: str, settings: dict[str, Any]
) -> None:
    model = ScriptedModel()
    with pytest.raises(SetupError, match=f"does not serve answer_type='{settings['answer_type']}'"):
        await answer(QUESTION, method, Context(model=model, **settings), given=PASSAGES)
    assert model.history == []


async def test_a_passage_that_fits_only_the_prompt_of_the_shorter_candidate_is_dropped_once() -> None:
    """The prompt for a candidate's summary is longer than the prompt that asks for candidates, and it grows with the
    candidate's length.
    """
    passages = [Passage(id=str(n), title="", text=f"In 1931, {n}. " + "So it was. " * 20) for n in range(4)]
    dropped_counts = set()
    for window in range(400, 450, 2):
        model = script_ranking(
            script_validity(make_proposer("(a) 1931 (b) painted by Ann Lee"), "True", "True"), "Passage 1", "Passage 2"
        )
        result = await answer(QUESTION, "sure", Context(model=model, context_window=window), given=passages)
        # how many passages the first three prompts show: candidates, the first and the second candidate's summary
        proposal_count, first_count, second_count = (sent.text.count("In 1931, ") for sent in model.history[:3])
        assert (len(result["passages"]), result["dropped"]) == (second_count, 4 - second_count)
        # how many further passages each of the two summary prompts drops
        dropped_counts.add((proposal_count - first_count, first_count - second_count))
    # (1, 1): both summary prompts drop a passage. This can occur, too, but need not.
    assert dropped_counts == {(0, 0), (1, 0), (0, 1)} | (dropped_counts & {(1, 1)})
