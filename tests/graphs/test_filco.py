"""FILCO's graph, and the context filter, which any method can use: traces, filter modes, threads and counted calls."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from method_fixtures import EVIDENCE_STEP, FIRST_STEPS, PASSAGES, QUESTION, script_passage_answers, trace_method
from openai_server import COMPLETIONS_PATH, OpenAIServer

from quorum.core.context import Context, get_filter_spec
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.graphs import METHODS, answer
from quorum.graphs.parts.context_filter import context_filter
from quorum.models import chat_model
from quorum.models.scripted import ScriptedModel

FINISHED_SENTENCE = "The Lumen Tower was finished in 1931."
ENDED_SENTENCE = "Work on the Lumen Tower ended in 1931, after a strike."
LONG_PASSAGE = Passage(id="l", title="Tower", text="It is tall. It was finished in 1931. It is red.")


def make_model(filter_reply: str, answer_reply: str = "1931") -> ScriptedModel:
    return ScriptedModel().on("filter_sentences", filter_reply).on("answer", answer_reply)


def get_shown_passages(model: ScriptedModel) -> str:
    """What the last prompt showed as passages."""
    return model.history[-1].text.split("Passages:\n<passages>\n")[-1].split("\n</passages>\n\nQuestion:")[0]


async def test_filco_answers_from_the_sentences_that_its_filter_copied() -> None:
    model = make_model(f"{FINISHED_SENTENCE}\n{ENDED_SENTENCE}")
    assert await trace_method("filco", model) == [
        *FIRST_STEPS,
        ("filter_context", {"passages": "p1 p3", "retrieved": ["p1", "p2", "p3"]}),
        (
            "concat_answer",
            {
                "answer": "1931",
                "unknown": False,
                "confidence": None,
                "passages": "p1 p3",
            },
        ),
        EVIDENCE_STEP,
    ]
    assert [sent.name for sent in model.history] == ["filter_sentences", "answer"]
    assert get_shown_passages(model) == f"[1] Lumen Tower\n{FINISHED_SENTENCE}\n\n[2] Towers\n{ENDED_SENTENCE}"


async def test_a_passage_that_is_cut_down_keeps_its_id_and_title() -> None:
    model = make_model('"It was finished in 1931"')
    result = await answer(QUESTION, "filco", Context(model=model), given=[LONG_PASSAGE, PASSAGES[1]])
    assert result["passages"] == [{"id": "l", "title": "Tower", "text": "It was finished in 1931."}]
    assert result["evidence"] == [{"passage": "l", "start": 19, "end": 23}]
    assert result["retrieved"] == ["l", "p2"]
    assert {name: usage["calls"] for name, usage in result["usage"].items()} == {"filter_sentences": 1, "answer": 1}
    assert result["malformed"] == {}


async def test_if_no_sentence_is_kept_the_prompt_shows_no_passage() -> None:
    model = make_model("None", "Unknown")
    result = await answer(QUESTION, "filco", Context(model=model), given=PASSAGES)
    assert (result["passages"], result["unknown"], result["malformed"]) == ([], True, {})
    assert result["retrieved"] == ["p1", "p2", "p3", "p4", "p5"]
    assert get_shown_passages(model) == "(none)"


async def test_invented_sentences_are_dropped_and_counted() -> None:
    reply = f"{FINISHED_SENTENCE}\nIt was opened by the king himself."
    result = await answer(QUESTION, "filco", Context(model=make_model(reply)), given=PASSAGES)
    assert [passage["id"] for passage in result["passages"]] == ["p1"]
    assert result["malformed"] == {"filter_sentences": {"count": 1, "replies": [reply]}}


async def test_filter_mode_passages_keeps_whole_passages() -> None:
    model = ScriptedModel().on("filter_passages", "1, 3").on("answer", "1931")
    steps = await trace_method("filco", model, filter_mode="psg")
    assert steps[2] == ("filter_context", {"passages": "p1 p3", "retrieved": ["p1", "p2", "p3"]})
    empty_model = ScriptedModel().on("filter_passages", "None").on("answer", "Unknown")
    assert (await trace_method("filco", empty_model, filter_mode="psg"))[2][1]["passages"] == ""
    unreadable_model = ScriptedModel().on("filter_passages", "Hm.").on("answer", "1931")
    assert (await trace_method("filco", unreadable_model, filter_mode="psg"))[2] == (
        "filter_context",
        {"passages": "p1 p2 p3", "retrieved": ["p1", "p2", "p3"], "malformed": {"filter_passages": ["Hm."]}},
    )


async def test_filter_mode_full_asks_no_filter() -> None:
    model = ScriptedModel().on("answer", "1931")
    result = await answer(QUESTION, "filco", Context(model=model, filter_mode="full"), given=PASSAGES)
    assert (len(result["passages"]), result["retrieved"], len(model.history)) == (5, None, 1)


async def choose_silver_passages(gold: list[str] | None, passages: list[Passage], **settings: Any) -> list[Passage]:
    """What filter_mode="silver" keeps of the passages. Also checks that the prompt does not contain "golden", the gold
    answer of one test.
    """
    prompt_name = {"label": "answer_label", "long": "answer_long"}.get(settings.get("answer_type", ""), "answer")
    model = ScriptedModel().on(prompt_name, "SUPPORTS")
    context = Context(model=model, filter_mode="silver", **settings)
    result = await answer(QUESTION, "filco", context, given=passages, gold_answers=gold)
    assert "golden" not in model.history[0].text
    return result["passages"]


async def test_silver_takes_the_sentence_with_the_gold_answer() -> None:
    assert [p["text"] for p in await choose_silver_passages(["1931"], [PASSAGES[1], LONG_PASSAGE])] == [
        "It was finished in 1931."
    ]
    # If no sentence holds the gold answer, or the list of gold answers is empty, the first passage is kept.
    assert await choose_silver_passages(["golden"], [LONG_PASSAGE, PASSAGES[0]]) == [LONG_PASSAGE]
    assert await choose_silver_passages([], [LONG_PASSAGE, PASSAGES[0]]) == [LONG_PASSAGE]


async def test_silver_sentences_for_answers_that_no_sentence_contains() -> None:
    similar_passage = Passage(id="n", title="", text="It rained. The Lumen Tower was finished.")
    for settings, gold in (({"answer_type": "label"}, ["SUPPORTS"]), ({}, ["yes"])):
        assert [p["text"] for p in await choose_silver_passages(gold, [similar_passage], **settings)] == [
            "The Lumen Tower was finished."
        ]
    silver_for_long_answer = await choose_silver_passages(
        ["It was the Lumen Tower that was finished"], [similar_passage], answer_type="long"
    )
    assert [p["text"] for p in silver_for_long_answer] == ["The Lumen Tower was finished."]


async def test_silver_by_the_likelihood_of_the_answer(openai_server: OpenAIServer) -> None:
    """With a scorer, the measure CXMI chooses the sentences that make a label more likely.

    The scorer gets the prompt that the answering model would get.
    """
    similar_passage = Passage(id="n", title="", text="It rained. The Lumen Tower was finished.")
    silver_for_label = await choose_silver_passages(
        ["SUPPORTS"], [similar_passage], answer_type="label", scorer="completions:test"
    )
    # The field "prompt" of a request holds one prompt or a list of prompts.
    prompt_fields = [request.body["prompt"] for request in openai_server.requests if request.path == COMPLETIONS_PATH]
    prompts = [prompt for field in prompt_fields for prompt in (field if isinstance(field, list) else [field])]
    assert len(prompts) == 3  # one without a sentence, and one with each of the two sentences
    assert all(f"Claim: {QUESTION}\nLabel:" in prompt for prompt in prompts)
    assert ["It rained." in prompt for prompt in prompts] == [False, True, False]
    assert silver_for_label[0]["id"] == "n"


async def test_silver_by_words_in_common() -> None:
    lexical_silver = await choose_silver_passages(["1931"], [PASSAGES[1], LONG_PASSAGE], silver_measure="lexical")
    assert lexical_silver == [PASSAGES[1]]  # no sentence is similar enough: the first passage is kept


async def test_silver_needs_gold_answers_of_the_same_question() -> None:
    graph = METHODS["filco"].graph.builder.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    model = ScriptedModel().on("answer", lambda _: "1931")
    context = Context(model=model, filter_mode="silver")
    await graph.ainvoke({"question": QUESTION, "given": PASSAGES, "gold_answers": ["1931"]}, thread, context=context)
    with pytest.raises(SetupError, match="this question has none; give gold_answers, or choose"):
        await graph.ainvoke({"question": QUESTION, "given": PASSAGES}, thread, context=context)


async def test_two_questions_on_one_thread_do_not_mix() -> None:
    graph = METHODS["filco"].graph.builder.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    second_question: Any = {"question": "Second?", "given": PASSAGES[3:]}
    second_context = Context(model=make_model("None", "1929"))
    result_alone = await METHODS["filco"].graph.ainvoke(second_question, context=second_context)
    await graph.ainvoke(
        {"question": QUESTION, "given": PASSAGES}, thread, context=Context(model=make_model(FINISHED_SENTENCE))
    )
    second_context = Context(model=make_model("None", "1929"))
    assert await graph.ainvoke(second_question, thread, context=second_context) == result_alone


async def test_without_a_context_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORUM_MODEL", "scripted")
    model = chat_model("scripted")
    assert isinstance(model, ScriptedModel)
    model.on("filter_sentences", FINISHED_SENTENCE).on("answer", "1931")
    result = await METHODS["filco"].graph.ainvoke({"question": QUESTION, "given": PASSAGES})
    assert ([passage["id"] for passage in result["passages"]], result["answer"]) == (["p1"], "1931")


def test_the_default_filter_follows_the_model() -> None:
    assert get_filter_spec(Context()) == "embedded"
    assert get_filter_spec(Context(model=ScriptedModel())) == get_filter_spec(Context(model="openai:x")) == "llm"
    assert get_filter_spec(Context(model="openai:x", context_filter="embedded")) == "embedded"


async def test_another_model_can_filter(openai_server: OpenAIServer) -> None:
    openai_server.reply(FINISHED_SENTENCE)
    model = ScriptedModel().on("answer", "1931")
    context = Context(model=model, context_filter="llm:openai:filter-1")
    result = await answer(QUESTION, "filco", context, given=PASSAGES)
    assert [passage["id"] for passage in result["passages"]] == ["p1"]
    assert [sent.prompt_name for sent in model.history] == ["answer"]


async def test_filter_and_answer_are_two_calls_in_sequence(openai_server: OpenAIServer) -> None:
    openai_server.reply([FINISHED_SENTENCE, "1931"])
    result = await answer(QUESTION, "filco", Context(model="openai:any"), given=PASSAGES)
    filter_request, answer_request = openai_server.chats()
    assert (result["answer"], result["evidence"][0]["passage"]) == ("1931", "p1")
    assert PASSAGES[1]["text"] in filter_request.text
    assert PASSAGES[1]["text"] not in answer_request.text
    assert f"[1] Lumen Tower\n{FINISHED_SENTENCE}\n</passages>\n\nQuestion: {QUESTION}" in answer_request.text


@pytest.mark.parametrize("spec", ["lmm", "transformers", "bert:x"])
async def test_an_unknown_filter_is_a_setup_error(spec: str) -> None:
    context = Context(model=ScriptedModel(), context_filter=spec)
    with pytest.raises(SetupError, match=f"context_filter='{spec}' names no filter; choose embedded, llm"):
        await answer(QUESTION, "filco", context, given=PASSAGES)


async def test_any_method_can_filter_its_context() -> None:
    model = script_passage_answers("1931", "1931").on("filter_sentences", f"{FINISHED_SENTENCE}\n{ENDED_SENTENCE}")
    assert (await trace_method("post_fusion", model, context_filter="llm"))[1:] == [
        ("retrieve", {"passages": "p1 p3", "retrieved": ["p1", "p2", "p3"]}),
        ("passage_answer", {"votes": ["0 1931"]}),
        ("passage_answer", {"votes": ["1 1931"]}),
        ("vote", {"answer": "1931", "unknown": False, "confidence": 1.0}),
        EVIDENCE_STEP,
    ]


@pytest.mark.parametrize(
    ("method", "answer_prompts"), [("post_fusion", []), ("concat_pf", ["answer"]), ("pf_concat", ["answer"])]
)
async def test_if_the_filter_keeps_nothing_the_answer_is_unknown_after_one_more_call_at_most(
    method: str, answer_prompts: list[str]
) -> None:
    """answer_prompts: the prompts that the method sends after the filter's."""
    model = ScriptedModel().on("filter_sentences", "None").on("answer", *["Unknown" for _ in answer_prompts])
    result = await answer(QUESTION, method, Context(model=model, context_filter="llm"), given=PASSAGES)
    assert (result["unknown"], result["passages"]) == (True, [])
    assert [sent.prompt_name for sent in model.history] == ["filter_sentences", *answer_prompts]


async def test_the_passages_of_a_second_search_are_added_to_the_retrieved_ids() -> None:
    model = ScriptedModel().on("filter_sentences", FINISHED_SENTENCE)
    state: Any = {"question": QUESTION, "passages": PASSAGES[:2], "retrieved": ["p9", "p2"]}
    result = await context_filter.ainvoke(state, context=Context(model=model))
    assert result["retrieved"] == ["p9", "p2", "p1"]


async def test_passages_are_filtered_for_the_query_that_found_them() -> None:
    model = ScriptedModel().on("filter_sentences", "None")
    state: Any = {"question": QUESTION, "query": "Who built it?", "passages": PASSAGES[:2]}
    await context_filter.ainvoke(state, context=Context(model=model))
    assert "conversation:\nWho built it?\n" in model.history[0].text
    assert QUESTION not in model.history[0].text


async def test_the_filter_is_asked_once_at_temperature_zero() -> None:
    model = make_model(FINISHED_SENTENCE).on("answer", "1931", "1931")
    context = Context(model=model, temperature=0.7, samples=3)
    result = await answer(QUESTION, "filco", context, given=PASSAGES)
    assert {name: usage["calls"] for name, usage in result["usage"].items()} == {"filter_sentences": 1, "answer": 3}
    assert "temperature" not in model.history[0].parameters  # a model object gets no parameters at temperature 0
    assert model.history[1].parameters["temperature"] == 0.7


def test_the_drawing_equals_its_snapshot() -> None:
    snapshot = Path(__file__).parents[1] / "snapshots" / "filco.mmd"
    assert METHODS["filco"].graph.get_graph().draw_mermaid() == snapshot.read_text(encoding="utf-8")
    subgraph_drawing = context_filter.get_graph().draw_mermaid()
    assert all(name in subgraph_drawing for name in ("filter_by_scores", "filter_by_prompt", "filter_by_answers"))


async def test_concurrent_runs_do_not_mix() -> None:
    def copy_own_sentence(messages: list[Any]) -> str:
        text = messages[-1].text
        return str(text[text.index("Number ") : text.index(" It snows")])

    model = ScriptedModel().on("filter_sentences", copy_own_sentence).on("answer", lambda _: "x")
    passages_of_questions = [
        [Passage(id=str(n), title="", text=f"It rains. Number {n} is here. It snows.")] for n in range(20)
    ]
    results = await asyncio.gather(
        *(answer(QUESTION, "filco", Context(model=model), given=passages) for passages in passages_of_questions)
    )
    assert [result["passages"][0]["id"] for result in results if result["passages"]] == [str(n) for n in range(20)]
