"""The baselines that SuRe's paper compares with: their nodes, and golden traces of every branch."""

from pathlib import Path
from typing import Any

import pytest
from method_fixtures import (
    EVIDENCE_STEP,
    FIRST_STEPS,
    KNOWN_ANSWER,
    NO_EVIDENCE_STEP,
    PASSAGES,
    QUESTION,
    STATE,
    make_runtime,
    trace_method,
)

from quorum.core.context import MAX_PASSAGES, MAX_SUPERSTEPS, Context
from quorum.core.errors import SetupError, TooLong
from quorum.core.state import State
from quorum.graphs import METHODS, answer
from quorum.models.scripted import ScriptedModel
from quorum.nodes.base_prompt import base_answer, closed_book_answer
from quorum.nodes.infer_stepwise import infer


def list_call_names(model: ScriptedModel) -> list[str]:
    return [sent.name for sent in model.history]


async def test_base_answers_in_one_call_and_cites_passages() -> None:
    assert await trace_method("base", ScriptedModel().on("answer_base", "1931.")) == [
        *FIRST_STEPS,
        ("base_answer", {**KNOWN_ANSWER, "confidence": None, "passages": "p1 p2 p3"}),
        EVIDENCE_STEP,
    ]


async def test_the_most_frequent_sample_of_base_wins() -> None:
    model = ScriptedModel().on("answer_base", "1950", "1931", "in 1931", "1931")
    steps = await trace_method("base", model, samples=4, temperature=0.7)
    assert steps[-2:] == [
        ("base_answer", {**KNOWN_ANSWER, "confidence": 0.75, "passages": "p1 p2 p3"}),
        EVIDENCE_STEP,
    ]


async def test_base_prompt_asks_for_three_words_and_offers_no_unknown() -> None:
    model = ScriptedModel().on("answer_base", "1931")
    await base_answer(STATE, make_runtime(model))
    text = model.history[0].text
    assert "at most three words" in text
    assert "nknown" not in text
    assert text.endswith(f"\n\n[3] Towers\n{PASSAGES[2]['text']}\n</passages>\n\nQuestion: {QUESTION}\nAnswer:")


EXAMPLES = '{"question": "Who?", "answer": "He", "rationale": "By name."}\n{"question": "Where?", "answer": "There"}\n'


@pytest.mark.parametrize(("node", "prompt"), [(base_answer, "answer_base"), (closed_book_answer, "answer_base_closed")])
async def test_examples_stand_between_passages_and_question(node: Any, prompt: str, tmp_path: Path) -> None:
    (tmp_path / "shots.jsonl").write_text(EXAMPLES, encoding="utf-8")
    model = ScriptedModel().on(prompt, "1931")
    await node(STATE, make_runtime(model, examples=str(tmp_path / "shots.jsonl")))
    text = model.history[0].text
    pairs = "\n\nQuestion: Who?\nAnswer: He\n\nQuestion: Where?\nAnswer: There\n\n"
    assert text.endswith(f"{pairs}Question: {QUESTION}\nAnswer:")
    assert "By name" not in text
    assert ("[1] Lumen Tower" in text) == (node is base_answer)


async def test_no_retrieval_asks_once_without_passages() -> None:
    model = ScriptedModel().on("answer_base_closed", "1931")
    assert await trace_method("no_retrieval", model) == [
        ("begin", {}),
        (
            "closed_book_answer",
            {**KNOWN_ANSWER, "confidence": None, "passages": ""},
        ),
        NO_EVIDENCE_STEP,
    ]
    assert "assage" not in model.history[0].text


async def test_no_retrieval_needs_no_collection_and_the_embedded_model_knows_nothing() -> None:
    result = await answer(QUESTION, "no_retrieval", Context(collection="nowhere"))
    assert (result["answer"], result["unknown"], result["passages"], result["malformed"]) == ("unknown", True, [], {})


async def test_zero_shot_cot_reasons_and_answers_in_one_call() -> None:
    model = ScriptedModel().on("zero_shot_cot", "Passage 1 gives the year.\nAnswer: 1931")
    assert await trace_method("zero_shot_cot", model) == [
        *FIRST_STEPS,
        ("stepwise_answer", {**KNOWN_ANSWER, "rationale": "Passage 1 gives the year.", "passages": "p1 p2 p3"}),
        EVIDENCE_STEP,
    ]
    assert len(model.history) == 1


@pytest.mark.parametrize(
    ("method", "prompt"),
    [
        ("base", "answer_base"),
        ("no_retrieval", "answer_base_closed"),
        ("zero_shot_cot", "zero_shot_cot"),
        ("self_verification", "zero_shot_cot"),
    ],
)
async def test_answer_types_other_than_short_and_yes_no_are_refused(method: str, prompt: str) -> None:
    with pytest.raises(SetupError, match=f"'{prompt}' does not serve answer_type='long'; set answer_type to short"):
        await answer(QUESTION, method, Context(model=ScriptedModel(), answer_type="long"), given=PASSAGES)
    model = ScriptedModel().on(prompt, *["So it is.\nAnswer: Yes, it was."] * 5)
    result = await answer(QUESTION, method, Context(model=model, answer_type="yes_no"), given=PASSAGES)
    assert (result["answer"], result["evidence"]) == ("yes", [])


def make_inference_model(*replies: str) -> ScriptedModel:
    model = ScriptedModel().on("rank_passages", "[3] > [1] > [2]")
    for number, reply in enumerate(replies, start=1):
        model.on(f"inference: passage {number}", reply)
    return model


async def test_selection_inference_reads_the_passages_one_by_one_best_first() -> None:
    model = make_inference_model(
        "Notes: Work ended in 1931.\nAnswer: 1931",
        "Notes: Finished in 1931.\nAnswer: 1931",
        "Notes: Finished in 1931; the mast is another.\nAnswer: 1931",
    )
    known_answer = {"answer": "1931", "unknown": False}
    notes = ["Work ended in 1931.", "Finished in 1931.", "Finished in 1931; the mast is another."]
    assert await trace_method("selection_inference", model) == [
        *FIRST_STEPS,
        ("rank_passages", {"passages": "p3 p1 p2"}),
        *(
            ("infer", {**known_answer, "notes": note, "rationale": note, "finished_rounds": number})
            for number, note in enumerate(notes, start=1)
        ),
        ("find_evidence", {"evidence": ["p3 33-37", "p1 32-36"]}),
    ]
    assert list_call_names(model) == ["rank_passages", *(f"inference: passage {n}" for n in (1, 2, 3))]
    prompts = [sent.text for sent in model.history[1:]]
    assert ["[1] Towers" in text for text in prompts] == [True, False, False]
    assert [f"Notes so far: {notes[0]}\n" in text for text in prompts] == [False, True, False]
    assert "Notes so far: \n" in prompts[0]


async def test_the_answer_after_the_last_passage_wins() -> None:
    model = make_inference_model("Notes: a\nAnswer: 1931", "Notes: b\nAnswer: 1950", "Notes: c\nAnswer: Unknown")
    steps = await trace_method("selection_inference", model)
    assert [update["answer"] for node, update in steps if node == "infer"] == ["1931", "1950", "unknown"]
    assert (steps[-2][1]["unknown"], steps[-1]) == (True, NO_EVIDENCE_STEP)


async def test_a_reply_without_notes_keeps_the_old_ones() -> None:
    model = make_inference_model("Notes: a\nAnswer: 1931", "1931", "Answer: 1931")
    steps = await trace_method("selection_inference", model)
    assert [update["notes"] for node, update in steps if node == "infer"] == ["a", "a", "a"]
    assert steps[-2][1]["malformed"] == {"inference": ["Answer: 1931"]}


async def test_a_passage_that_is_too_long_is_skipped() -> None:
    model = ScriptedModel().on("inference", TooLong("no"))
    state = State(question=QUESTION, passages=PASSAGES[:1], finished_rounds=0, notes=None, answer="")
    assert await infer(state, make_runtime(model)) == {
        "answer": "unknown",
        "answer_text": None,
        "unknown": True,
        "finished_rounds": 1,
        "dropped": 1,
    }


async def test_the_largest_number_of_passages_stays_within_the_recursion_limit() -> None:
    model = ScriptedModel().on("rank_passages", lambda _: "1").on("inference", lambda _: "Notes: a\nAnswer: 1931")
    nodes = [node for node, _ in await trace_method("selection_inference", model, k=5)]
    assert nodes.count("infer") == 5
    other_node_count = len(nodes) - 5
    limit = METHODS["selection_inference"].graph.config["recursion_limit"]
    assert MAX_PASSAGES + other_node_count < limit == MAX_SUPERSTEPS


@pytest.mark.parametrize("name", ["no_retrieval", "base", "rerank", "replug", "zero_shot_cot"])
def test_methods_whose_calls_run_at_the_same_time_have_depth_one(name: str) -> None:
    assert METHODS[name].depth == "1"
