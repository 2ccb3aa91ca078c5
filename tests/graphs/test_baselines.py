"""SuRe's baselines: their nodes, and golden traces of every branch."""

from pathlib import Path
from typing import Any

import pytest
from method_fixtures import PASSAGES, QUESTION, make_runtime, script_passage_answers, trace_method

from quorum.core.context import MOST_PASSAGES, MOST_SUPERSTEPS, Context
from quorum.core.errors import SetupError, TooLong
from quorum.core.state import Evidence, State
from quorum.graphs import METHODS, answer
from quorum.models.scripted import ScriptedModel
from quorum.nodes.base import base_answer, closed_answer
from quorum.nodes.infer_stepwise import infer
from quorum.nodes.self_verification import RECOVERY_CALLS, choose_verified, mask_condition, recover_condition

FIRST_STEPS: list[tuple[str, dict[str, Any]]] = [("begin", {}), ("retrieve", {"passages": "p1 p2 p3"})]
KNOWN_ANSWER = {"answer": "1931", "unknown": False, "evidence": ["p1 32-36", "p3 33-37"]}
STATE = State(question=QUESTION, passages=PASSAGES[:3])


def calls(model: ScriptedModel) -> list[str]:
    return [sent.name for sent in model.history]


async def test_base() -> None:
    assert await trace_method("base", ScriptedModel().on("answer_base", "1931.")) == [
        *FIRST_STEPS,
        ("base_answer", {**KNOWN_ANSWER, "confidence": None, "passages": "p1 p2 p3"}),
    ]


async def test_the_most_frequent_sample_of_base_wins() -> None:
    model = ScriptedModel().on("answer_base", "1950", "1931", "in 1931", "1931")
    steps = await trace_method("base", model, samples=4, temperature=0.7)
    assert steps[-1] == ("base_answer", {**KNOWN_ANSWER, "confidence": 0.75, "passages": "p1 p2 p3"})


async def test_base_prompt_asks_for_three_words_and_offers_no_unknown() -> None:
    model = ScriptedModel().on("answer_base", "1931")
    await base_answer(STATE, make_runtime(model))
    text = model.history[0].text
    assert "at most three words" in text
    assert "nknown" not in text
    assert text.endswith(f"\n\n[3] Towers\n{PASSAGES[2]['text']}\n\nQuestion: {QUESTION}\nAnswer:")


EXAMPLES = '{"question": "Who?", "answer": "He", "rationale": "By name."}\n{"question": "Where?", "answer": "There"}\n'


@pytest.mark.parametrize(("node", "prompt"), [(base_answer, "answer_base"), (closed_answer, "answer_base_closed")])
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
        ("closed_answer", {"answer": "1931", "unknown": False, "confidence": None, "evidence": [], "passages": ""}),
    ]
    assert "assage" not in model.history[0].text


async def test_no_retrieval_needs_no_collection_and_the_embedded_model_knows_nothing() -> None:
    result = await answer(QUESTION, "no_retrieval", Context(collection="nowhere"))
    assert (result["answer"], result["unknown"], result["passages"], result["malformed"]) == ("unknown", True, [], {})


async def test_zero_shot_cot() -> None:
    model = ScriptedModel().on("zero_shot_cot", "Passage 1 gives the year.\nAnswer: 1931")
    assert await trace_method("zero_shot_cot", model) == [
        *FIRST_STEPS,
        ("stepwise_answer", {**KNOWN_ANSWER, "rationale": "Passage 1 gives the year.", "passages": "p1 p2 p3"}),
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
async def test_short_facts_and_verdicts_only(method: str, prompt: str) -> None:
    with pytest.raises(SetupError, match=f"'{prompt}' does not serve answer_type='long'; set answer_type to short"):
        await answer(QUESTION, method, Context(model=ScriptedModel(), answer_type="long"), given=PASSAGES)
    model = ScriptedModel().on(prompt, *["So it is.\nAnswer: Yes, it was."] * 5)
    result = await answer(QUESTION, method, Context(model=model, answer_type="yes_no"), given=PASSAGES)
    assert (result["answer"], result["evidence"]) == ("yes", [])


# --- selection and inference


def reader(*replies: str) -> ScriptedModel:
    model = ScriptedModel().on("rank_passages", "[3] > [1] > [2]")
    for number, reply in enumerate(replies, start=1):
        model.on(f"inference: passage {number}", reply)
    return model


async def test_selection_inference_reads_the_passages_one_by_one_best_first() -> None:
    model = reader(
        "Notes: Work ended in 1931.\nAnswer: 1931",
        "Notes: Finished in 1931.\nAnswer: 1931",
        "Notes: Finished in 1931; the mast is another.\nAnswer: 1931",
    )
    collected = {"answer": "1931", "unknown": False}
    noted = ["Work ended in 1931.", "Finished in 1931.", "Finished in 1931; the mast is another."]
    assert await trace_method("selection_inference", model) == [
        *FIRST_STEPS,
        ("rank_passages", {"passages": "p3 p1 p2"}),
        *(("infer", {**collected, "notes": n, "rationale": n, "turn": turn}) for turn, n in enumerate(noted, start=1)),
        ("cite", {"evidence": ["p3 33-37", "p1 32-36"]}),
    ]
    assert calls(model) == ["rank_passages", *(f"inference: passage {n}" for n in (1, 2, 3))]
    shown = [sent.text for sent in model.history[1:]]
    assert ["[1] Towers" in text for text in shown] == [True, False, False]
    assert [f"Notes so far: {noted[0]}\n" in text for text in shown] == [False, True, False]
    assert "Notes so far: \n" in shown[0]


async def test_the_answer_after_the_last_passage_wins() -> None:
    model = reader("Notes: a\nAnswer: 1931", "Notes: b\nAnswer: 1950", "Notes: c\nAnswer: Unknown")
    steps = await trace_method("selection_inference", model)
    assert [update["answer"] for node, update in steps if node == "infer"] == ["1931", "1950", "unknown"]
    assert (steps[-2][1]["unknown"], steps[-1]) == (True, ("cite", {"evidence": []}))


async def test_a_reply_without_notes_keeps_the_old_ones() -> None:
    model = reader("Notes: a\nAnswer: 1931", "1931", "Answer: 1931")
    steps = await trace_method("selection_inference", model)
    assert [update["notes"] for node, update in steps if node == "infer"] == ["a", "a", "a"]
    assert steps[-2][1]["malformed"] == {"inference": ["Answer: 1931"]}


async def test_a_passage_that_is_too_long_is_skipped() -> None:
    model = ScriptedModel().on("inference", TooLong("no"))
    state = State(question=QUESTION, passages=PASSAGES[:1], turn=0, notes=None, answer="")
    assert await infer(state, make_runtime(model)) == {"answer": "unknown", "unknown": True, "turn": 1, "dropped": 1}


async def test_the_most_passages_that_can_be_set_are_within_the_limit() -> None:
    model = ScriptedModel().on("rank_passages", lambda _: "1").on("inference", lambda _: "Notes: a\nAnswer: 1931")
    nodes = [node for node, _ in await trace_method("selection_inference", model, k=5)]
    assert nodes.count("infer") == 5
    rest = len(nodes) - 5
    limit = METHODS["selection_inference"].graph.config["recursion_limit"]
    assert MOST_PASSAGES + rest < limit == MOST_SUPERSTEPS


# --- self-verification


def verifier(*samples: str) -> ScriptedModel:
    return ScriptedModel().on("zero_shot_cot", *(f"Because {message}.\nAnswer: {message}" for message in samples))


async def test_samples_that_agree_need_no_verification() -> None:
    model = verifier("1931", "unknown", "in 1931", "In 1931.", "The in 1931")
    model.on("zero_shot_cot", lambda _: "Because.\nAnswer: 1931.")
    assert await trace_method("self_verification", model) == [
        *FIRST_STEPS,
        (
            "sample_answers",
            {"candidates": ["1931"], "rationales": ["Because."], "confidence": 1.0, "passages": "p1 p2 p3"},
        ),
        ("choose_verified", {**KNOWN_ANSWER, "rationale": "Because."}),
    ]
    assert [sent.parameters["temperature"] for sent in model.history] == [0.3] * 5


async def test_unknown_samples_are_no_candidates() -> None:
    steps = await trace_method("self_verification", verifier("unknown", "1931", "I don't know", "1931.", "unknown"))
    assert steps[2][1]["candidates"] == ["1931"]
    assert steps[2][1]["confidence"] == 0.4
    assert steps[-1] == ("choose_verified", {**KNOWN_ANSWER, "rationale": "Because 1931."})
    steps = await trace_method("self_verification", verifier(*["unknown"] * 5))
    assert steps[-1] == ("choose_verified", {"answer": "unknown", "unknown": True, "rationale": None, "evidence": []})


def statement(hidden: str, year: str) -> str:
    return f"Statement: The [MASK] was finished in {year}.\nHidden: {hidden}"


async def test_each_of_several_answers_is_verified_by_itself() -> None:
    model = verifier("1950", "1931", "1950", "the 1931", "1950")
    model.on("mask_condition: candidate 1", statement("Lumen Tower", "1950"))
    model.on("mask_condition: candidate 2", statement("Lumen Tower", "1931"))
    model.on("recover_condition: candidate 1", *["Iron Mast"] * 8, *["the Lumen Tower"] * 2)
    model.on("recover_condition: candidate 2", *["Lumen Tower."] * 7, *["unknown"] * 3)
    steps = await trace_method("self_verification", model)
    assert steps[:3] == [
        *FIRST_STEPS,
        (
            "sample_answers",
            {
                "candidates": ["1950", "1931"],
                "rationales": ["Because 1950.", "Because 1931."],
                "confidence": None,
                "passages": "p1 p2 p3",
            },
        ),
    ]
    verified = sorted((step for step in steps if step[0] == "verify"), key=lambda step: step[1]["verified"][0]["rank"])
    assert verified == [
        ("verify", {"verified": [{"rank": 0, "recovered": 2}]}),
        ("verify", {"verified": [{"rank": 1, "recovered": 7}]}),
    ]
    assert steps[-1] == (
        "choose_verified",
        {**KNOWN_ANSWER, "rationale": "Because 1931.", "scores": [2.0, 7.0], "confidence": 0.5},
    )
    assert len(model.history) == 5 + 2 * (1 + RECOVERY_CALLS)
    recoveries = [sent for sent in model.history if sent.prompt == "recover_condition"]
    assert {sent.parameters["temperature"] for sent in recoveries} == {0.2}
    assert not any(QUESTION in sent.text or "Hidden: Lumen" in sent.text for sent in recoveries)  # they would tell


async def test_the_first_of_equals_wins_and_an_unmasked_candidate_scores_nothing() -> None:
    model = verifier("1950", "1931", "1929", "1950", "1950")
    model.on("mask_condition: candidate 1", "I cannot.")
    model.on("mask_condition: candidate 2", statement("Lumen Tower", "1931"))
    model.on("mask_condition: candidate 3", statement("none", "1929"))
    model.on("recover_condition: candidate 2", *["Iron Mast"] * RECOVERY_CALLS)
    steps = await trace_method("self_verification", model)
    assert (steps[-1][1]["answer"], steps[-1][1]["scores"]) == ("1950", [0.0] * 3)
    assert [node["malformed"] for _, node in steps if "malformed" in node] == [{"mask_condition": ["I cannot."]}]


async def test_usage_of_verifications_is_counted_once() -> None:
    model = verifier("1950", "1931", "1950", "1950", "1950")
    model.on("mask_condition", lambda _: statement("Lumen Tower", "x")).on("recover_condition", lambda _: "Lumen Tower")
    result = await answer(QUESTION, "self_verification", Context(model=model), given=PASSAGES)
    assert {name: used["calls"] for name, used in result["usage"].items()} == {
        "zero_shot_cot": 5,
        "mask_condition": 2,
        "recover_condition": 20,
    }


async def test_the_nodes_of_a_verification() -> None:
    model = ScriptedModel().on("mask_condition", statement("Lumen Tower", "1931"))
    masked = await mask_condition({**STATE, "rank": 1, "answer": "1931"}, make_runtime(model))
    assert masked["masked"] == {"statement": "The [MASK] was finished in 1931.", "condition": "Lumen Tower"}
    assert f"Question: {QUESTION}\nAnswer: 1931\nStatement:" in model.history[0].text
    assert "[1]" not in model.history[0].text
    model.on("recover_condition", *["Lumen Tower"] * 10)
    result = await recover_condition({**STATE, "rank": 1, "masked": masked["masked"]}, make_runtime(model))
    assert result["verified"] == [{"rank": 1, "recovered": 10}]
    state = State(passages=PASSAGES[:1], candidates=["1950", "1931"], rationales=[None, "So."])
    assert await choose_verified({**state, "verified": result["verified"]}) == {
        "answer": "1931",
        "unknown": False,
        "rationale": "So.",
        "evidence": [Evidence(passage="p1", start=32, end=36)],
        "scores": [0.0, 10.0],
        "confidence": 1.0,
    }


async def test_prompts_of_one_graph_share_their_beginning() -> None:
    model = verifier("1950", "1931", "1950", "1950", "1950")
    model.on("mask_condition", lambda _: statement("Lumen Tower", "x")).on("recover_condition", lambda _: "Lumen Tower")
    await answer(QUESTION, "self_verification", Context(model=model, k=3), given=PASSAGES)
    texts = [sent.text for sent in model.history if sent.prompt != "mask_condition"]
    passages = f"[3] Towers\n{PASSAGES[2]['text']}"
    assert len({text[: text.index(passages) + len(passages)] for text in texts}) == 1


# --- weighted votes


@pytest.mark.parametrize(("method", "weigh"), [("rerank", "weigh_by_words"), ("replug", "weigh_by_meaning")])
async def test_votes_weigh_by_likeness_to_the_question(method: str, weigh: str) -> None:
    steps = await trace_method(method, script_passage_answers("1931", "1950", "1950"))
    assert steps[:2] == FIRST_STEPS
    assert [step[0] for step in steps[2:]] == ["passage_answer"] * 3 + [weigh, "vote"]
    assert steps[-2][1] == {"votes": ["0 1931", "1 1950", "2 1950"]}
    assert steps[-1][1]["answer"] == "1931"  # the majority says 1950
    assert steps[-1][1]["evidence"] == ["p1 32-36"]
    assert 0.5 < steps[-1][1]["confidence"] < 1


@pytest.mark.parametrize("method", ["rerank", "replug"])
async def test_weighted_votes_are_never_staged_and_unknown_is_dropped(method: str) -> None:
    model = script_passage_answers("unknown", "1950", "unknown")
    result = await answer(QUESTION, method, Context(model=model, k=3, vote="staged"), given=PASSAGES)
    assert (result["answer"], len(result["votes"])) == ("1950", 3)
    silent = await answer(
        QUESTION, method, Context(model=script_passage_answers(*["unknown"] * 3), k=3), given=PASSAGES
    )
    assert (silent["answer"], silent["unknown"], silent["confidence"]) == ("unknown", True, None)


@pytest.mark.parametrize("method", ["rerank", "replug"])
async def test_each_sample_weighs_what_its_passage_weighs(method: str) -> None:
    model = script_passage_answers(["1931", "1950"], ["1950", "1950"])
    result = await answer(QUESTION, method, Context(model=model, k=2, samples=2, temperature=0.7), given=PASSAGES)
    weights = [(vote["rank"], vote["weight"]) for vote in result["votes"]]
    assert len(weights) == 4
    assert len(set(weights)) == 2
    assert sorted(weights)[0] == sorted(weights)[1]


@pytest.mark.parametrize("name", ["no_retrieval", "base", "rerank", "replug", "zero_shot_cot"])
def test_methods_of_one_round_have_depth_one(name: str) -> None:
    assert METHODS[name].depth == "1"
