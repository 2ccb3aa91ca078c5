"""Self-verification: golden traces, its nodes and the prompts that they send."""

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

from quorum.core.context import Context
from quorum.core.state import State
from quorum.graphs import answer
from quorum.models.scripted import ScriptedModel
from quorum.nodes.self_verification import RECOVERY_CALLS, choose_verified, mask_condition, recover_condition


def make_sampling_model(*samples: str) -> ScriptedModel:
    """A model that samples these answers, each with a chain of thought."""
    return ScriptedModel().on("zero_shot_cot", *(f"Because {sample}.\nAnswer: {sample}" for sample in samples))


async def test_samples_that_agree_need_no_verification() -> None:
    model = make_sampling_model("1931", "in 1931", "In 1931.", "1931.", "the 1931")
    assert await trace_method("self_verification", model) == [
        *FIRST_STEPS,
        (
            "sample_answers",
            {
                "candidates": ["1931"],
                "candidate_texts": ["1931"],
                "rationales": ["Because 1931."],
                "confidence": 1.0,
                "passages": "p1 p2 p3",
            },
        ),
        ("choose_verified", {**KNOWN_ANSWER, "rationale": "Because 1931."}),
        EVIDENCE_STEP,
    ]
    assert [sent.parameters["temperature"] for sent in model.history] == [0.3] * 5


async def test_unknown_samples_are_no_candidates() -> None:
    steps = await trace_method(
        "self_verification", make_sampling_model("unknown", "1931", "I don't know", "1931.", "unknown")
    )
    assert steps[2][1]["candidates"] == ["1931"]
    assert steps[2][1]["confidence"] == 0.4
    assert steps[-2:] == [("choose_verified", {**KNOWN_ANSWER, "rationale": "Because 1931."}), EVIDENCE_STEP]
    steps = await trace_method("self_verification", make_sampling_model(*["unknown"] * 5))
    unknown_answer = {"answer": "unknown", "unknown": True, "rationale": None}
    assert steps[-2:] == [("choose_verified", unknown_answer), NO_EVIDENCE_STEP]


def write_masked_statement(hidden_words: str, year: str) -> str:
    """A reply to the prompt mask_condition."""
    return f"Statement: The [MASK] was finished in {year}.\nHidden: {hidden_words}"


async def test_each_of_several_answers_is_verified_separately() -> None:
    model = make_sampling_model("1950", "1931", "1950", "the 1931", "1950")
    model.on("mask_condition: candidate 1", write_masked_statement("Lumen Tower", "1950"))
    model.on("mask_condition: candidate 2", write_masked_statement("Lumen Tower", "1931"))
    model.on("recover_condition: candidate 1", *["Iron Mast"] * 8, *["the Lumen Tower"] * 2)
    model.on("recover_condition: candidate 2", *["Lumen Tower."] * 7, *["unknown"] * 3)
    steps = await trace_method("self_verification", model)
    assert steps[:3] == [
        *FIRST_STEPS,
        (
            "sample_answers",
            {
                "candidates": ["1950", "1931"],
                "candidate_texts": ["1950", "1931"],
                "rationales": ["Because 1950.", "Because 1931."],
                "confidence": None,
                "passages": "p1 p2 p3",
            },
        ),
    ]
    verified_steps = sorted(
        (step for step in steps if step[0] == "verify"), key=lambda step: step[1]["verified_candidates"][0]["rank"]
    )
    assert verified_steps == [
        ("verify", {"verified_candidates": [{"rank": 0, "recovered": 2}]}),
        ("verify", {"verified_candidates": [{"rank": 1, "recovered": 7}]}),
    ]
    assert steps[-2] == (
        "choose_verified",
        {**KNOWN_ANSWER, "rationale": "Because 1931.", "scores": [2.0, 7.0], "confidence": 0.5},
    )
    assert len(model.history) == 5 + 2 * (1 + RECOVERY_CALLS)
    recoveries = [sent for sent in model.history if sent.prompt_name == "recover_condition"]
    assert {sent.parameters["temperature"] for sent in recoveries} == {0.2}
    assert not any(
        QUESTION in sent.text or "Hidden: Lumen" in sent.text for sent in recoveries
    )  # either would reveal the hidden words


async def test_the_first_of_equal_scores_wins_and_a_candidate_that_cannot_be_masked_scores_nothing() -> None:
    model = make_sampling_model("1950", "1931", "1929", "1950", "1950")
    model.on("mask_condition: candidate 1", "I cannot.")
    model.on("mask_condition: candidate 2", write_masked_statement("Lumen Tower", "1931"))
    model.on("mask_condition: candidate 3", write_masked_statement("none", "1929"))
    model.on("recover_condition: candidate 2", *["Iron Mast"] * RECOVERY_CALLS)
    steps = await trace_method("self_verification", model)
    assert (steps[-2][1]["answer"], steps[-2][1]["scores"]) == ("1950", [0.0] * 3)
    assert [update["malformed"] for _, update in steps if "malformed" in update] == [{"mask_condition": ["I cannot."]}]


async def test_usage_of_verifications_is_counted_once() -> None:
    model = make_sampling_model("1950", "1931", "1950", "1950", "1950")
    model.on("mask_condition", lambda _: write_masked_statement("Lumen Tower", "x")).on(
        "recover_condition", lambda _: "Lumen Tower"
    )
    result = await answer(QUESTION, "self_verification", Context(model=model), given=PASSAGES)
    assert {name: used["calls"] for name, used in result["usage"].items()} == {
        "zero_shot_cot": 5,
        "mask_condition": 2,
        "recover_condition": 20,
    }


async def test_nodes_mask_a_condition_then_recover_it_then_choose_an_answer() -> None:
    model = ScriptedModel().on("mask_condition", write_masked_statement("Lumen Tower", "1931"))
    masked_update = await mask_condition({**STATE, "rank": 1, "answer": "1931"}, make_runtime(model))
    assert masked_update["masked_statement"] == {
        "statement": "The [MASK] was finished in 1931.",
        "hidden_words": "Lumen Tower",
    }
    assert f"Question: {QUESTION}\nAnswer: 1931\nStatement:" in model.history[0].text
    assert "[1]" not in model.history[0].text  # the prompt mask_condition shows no passages
    model.on("recover_condition", *["Lumen Tower"] * 10)
    result = await recover_condition(
        {**STATE, "rank": 1, "masked_statement": masked_update["masked_statement"]}, make_runtime(model)
    )
    assert result["verified_candidates"] == [{"rank": 1, "recovered": 10}]
    state = State(passages=PASSAGES[:1], candidates=["1950", "1931"], rationales=[None, "So."])
    state["candidate_texts"] = ["1950", "In 1931"]
    assert await choose_verified({**state, "verified_candidates": result["verified_candidates"]}) == {
        "answer": "1931",
        "answer_text": "In 1931",
        "unknown": False,
        "rationale": "So.",
        "scores": [0.0, 10.0],
        "confidence": 1.0,
    }


async def test_prompts_that_show_the_passages_share_their_beginning() -> None:
    model = make_sampling_model("1950", "1931", "1950", "1950", "1950")
    model.on("mask_condition", lambda _: write_masked_statement("Lumen Tower", "x")).on(
        "recover_condition", lambda _: "Lumen Tower"
    )
    await answer(QUESTION, "self_verification", Context(model=model, k=3), given=PASSAGES)
    texts = [sent.text for sent in model.history if sent.prompt_name != "mask_condition"]
    last_passage = f"[3] Towers\n{PASSAGES[2]['text']}"
    assert len({text[: text.index(last_passage) + len(last_passage)] for text in texts}) == 1
