"""The method hyde: golden traces (a run's nodes and their updates), what is searched for, the built-in reader."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from method_fixtures import EVIDENCE_STEP, KNOWN_ANSWER, PASSAGES, QUESTION, make_runtime, trace_method

from quorum.core.context import Context
from quorum.graphs import answer
from quorum.models.scripted import ScriptedModel
from quorum.nodes.hyde import write_hypothetical_passage

MADE_UP = "Work on the tower ended in 1905, after a long strike of its builders."


async def test_hyde_searches_with_a_made_up_passage_and_answers_from_what_it_finds() -> None:
    model = ScriptedModel().on("hypothetical", MADE_UP).on("answer", "1931")
    assert await trace_method("hyde", model, k=5) == [
        ("begin", {}),
        ("write_hypothetical_passage", {"search_text": f"{MADE_UP}\n{QUESTION}"}),
        ("retrieve", {"passages": "p3 p1 p4 p5 p2"}),
        ("concat_answer", {**KNOWN_ANSWER, "confidence": None, "passages": "p3 p1 p4 p5 p2"}),
        ("find_evidence", {"evidence": ["p3 33-37", "p1 32-36", "p5 None-None"]}),
    ]
    assert MADE_UP not in model.history[1].text  # the answering prompt shows what was found, not what was made up


@pytest.mark.parametrize("reply", ["Unknown", "I don't know.", ""])
async def test_hyde_without_a_passage_answers_as_concat_does(reply: str) -> None:
    model = ScriptedModel().on("hypothetical", reply).on("answer", "1931")
    trace = await trace_method("hyde", model)
    assert [step for step in trace if step[0] != "write_hypothetical_passage"] == [
        ("begin", {}),
        ("retrieve", {"passages": "p1 p2 p3"}),
        ("concat_answer", {**KNOWN_ANSWER, "confidence": None, "passages": "p1 p2 p3"}),
        EVIDENCE_STEP,
    ]


async def test_the_answering_prompt_is_that_of_concat() -> None:
    models = [ScriptedModel().on("hypothetical", "Unknown").on("answer", "1931") for _ in range(2)]
    for method, model in zip(("concat", "hyde"), models, strict=True):
        await trace_method(method, model)
    assert models[0].history[-1].text == models[1].history[-1].text


async def test_several_samples_vote_over_one_made_up_passage() -> None:
    model = ScriptedModel().on("hypothetical", MADE_UP).on("answer", "1931", "1905", "1931")
    result = await answer(QUESTION, "hyde", Context(model=model, samples=3, temperature=1), given=PASSAGES)
    assert (result["answer"], {name: used["calls"] for name, used in result["usage"].items()}) == (
        "1931",
        {"hypothetical": 1, "answer": 3},
    )


@pytest.mark.parametrize(("setting", "prompt"), [("reranker", "rank_passages"), ("context_filter", "filter_sentences")])
async def test_a_reranker_and_a_filter_go_by_the_question(setting: str, prompt: str) -> None:
    model = ScriptedModel().on("hypothetical", MADE_UP).on("answer", "1931")
    model.on("rank_passages", "[1] > [2] > [3]").on("filter_sentences", PASSAGES[0]["text"])
    await trace_method("hyde", model, **{setting: {"reranker": "listwise"}.get(setting, "llm")})
    text = next(sent.text for sent in model.history if sent.prompt_name == prompt)
    assert (QUESTION in text, MADE_UP in text) == (True, False)


@pytest.mark.parametrize(
    ("answer_type", "prompt", "reply"),
    [
        ("yes_no", "answer_yes_no", "Yes"),
        ("long", "answer_long", "In 1931. [1]"),
        ("label", "answer_label", "SUPPORTS"),
    ],
)
async def test_every_kind_of_answer_is_served(answer_type: Any, prompt: str, reply: str) -> None:
    model = ScriptedModel().on("hypothetical", MADE_UP).on(prompt, reply)
    result = await answer(QUESTION, "hyde", Context(model=model, answer_type=answer_type), given=PASSAGES)
    assert not result["unknown"]


async def test_a_refusal_in_the_made_up_passage_is_not_searched_for() -> None:
    model = ScriptedModel().on("hypothetical", "I don't know. The Lumen Tower stands in Vell.")
    update = await write_hypothetical_passage({"question": QUESTION}, make_runtime(model))
    assert update["search_text"] == f"The Lumen Tower stands in Vell.\n{QUESTION}"


async def test_with_the_embedded_reader_hyde_searches_for_the_question(
    tmp_path: Path, copy_sample_vectors: Callable[[Path], None]
) -> None:
    """The reader has no knowledge of its own: it makes nothing up, and hyde gives the answers of concat."""
    copy_sample_vectors(tmp_path / "store")
    context = Context(store=str(tmp_path / "store"))
    results = [await answer("Who wrote the Zen of Python?", method, context) for method in ("hyde", "concat")]
    usage = results[0].pop("usage"), results[1].pop("usage")  # type: ignore[misc]
    assert results[0] == results[1]
    assert (usage[0].pop("hypothetical")["calls"], usage[0]) == (1, usage[1])
