"""The methods `direct` and `cot`, and what BlendFilter has in common with them."""

from typing import Any

import pytest
from blendfilter_fixtures import (
    PASSAGES,
    QUESTION,
    join_ids,
    make_blend_model,
    run_blendfilter,
)
from langgraph.checkpoint.memory import InMemorySaver

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.graphs import METHODS, answer
from quorum.models import chat_model
from quorum.models.scripted import ScriptedModel


def make_constant_model(reply: str = "Jillian Belk", model: ScriptedModel | None = None) -> ScriptedModel:
    """A model whose replies never change.

    It replies to the reasoning prompts with a thought that concludes with `reply`, to `choose` with passage 1, and to
    all other prompts with `reply`. model: the model that gets these replies; None for a new one.
    """
    model = model or ScriptedModel()
    for name in ("reason", "reason_from_memory"):
        model.on(name, lambda _: f"It is so. So the answer is {reply}.")
    for name in ("internal", "topic", "judge", "extract_answer", "direct", "direct_from_memory"):
        model.on(name, lambda _: reply)
    return model.on("choose", lambda _: "1")


@pytest.mark.parametrize("method", ["blendfilter", "direct", "cot"])
async def test_two_questions_on_one_thread_do_not_mix(method: str) -> None:
    graph = METHODS[method].graph.builder.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    second_inputs: Any = {"question": "Second?", "given": PASSAGES[3:]}
    result_on_new_thread = await METHODS[method].graph.ainvoke(
        second_inputs, context=Context(model=make_constant_model("tea"))
    )
    await graph.ainvoke({"question": QUESTION, "given": PASSAGES}, thread, context=Context(model=make_constant_model()))
    result = await graph.ainvoke(second_inputs, thread, context=Context(model=make_constant_model("tea")))
    assert result == result_on_new_thread


@pytest.mark.parametrize("method", ["blendfilter", "direct", "cot"])
async def test_a_context_object_a_mapping_and_the_environment_give_the_same_result(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs: Any = {"question": QUESTION, "given": PASSAGES}
    model = make_constant_model()
    result_with_context = await METHODS[method].graph.ainvoke(inputs, context=Context(model=model))
    assert await METHODS[method].graph.ainvoke(inputs, context={"model": make_constant_model()}) == result_with_context
    monkeypatch.setenv("QUORUM_MODEL", "scripted")
    default_model = chat_model("scripted")  # the one scripted model of this process, which the last run gets, too
    assert isinstance(default_model, ScriptedModel)
    make_constant_model(model=default_model)
    assert await METHODS[method].graph.ainvoke(inputs) == result_with_context
    assert result_with_context["answer"] == "Jillian Belk"


async def test_direct_answers_in_one_call() -> None:
    model = make_constant_model()
    result = await answer(QUESTION, "direct", Context(model=model, k=5), given=PASSAGES)
    assert (result["answer"], result["rationale"], result["evidence"][0]["passage"]) == ("Jillian Belk", None, "bell")
    assert (len(result["passages"]), result["retrieved"]) == (5, None)
    assert [call.name for call in model.history] == ["direct"]


async def test_cot_reasons_and_answers_in_one_call() -> None:
    model = make_constant_model()
    result = await answer(QUESTION, "cot", Context(model=model, k=5), given=PASSAGES)
    assert (result["answer"], result["rationale"]) == ("Jillian Belk", "It is so.")
    assert [call.name for call in model.history] == ["reason"]


@pytest.mark.parametrize(("method", "prompt"), [("direct", "direct_from_memory"), ("cot", "reason_from_memory")])
async def test_from_memory_nothing_is_retrieved_or_shown(method: str, prompt: str) -> None:
    model = make_constant_model()
    result = await answer(QUESTION, method, Context(model=model, retrieve=False, collection="nowhere"))
    assert (result["answer"], result["passages"], result["evidence"]) == ("Jillian Belk", [], [])
    assert [call.name for call in model.history] == [prompt]
    assert "Passages:" not in model.history[0].text


async def test_only_direct_and_cot_answer_from_memory() -> None:
    # BlendFilter reads passages even with retrieve=False.
    assert join_ids((await run_blendfilter(make_blend_model(), retrieve=False))["passages"]) == "mansion bell"


@pytest.mark.parametrize(
    ("reply", "answer_text"), [("No, it is not.", "no"), ("Yes", "yes"), ("I do not know", "unknown")]
)
async def test_direct_and_cot_answer_yes_or_no(reply: str, answer_text: str) -> None:
    model = ScriptedModel().on("direct_yes_no", reply).on("reason_yes_no", f"It is so. So the answer is {reply}.")
    context = Context(model=model, answer_type="yes_no")
    for method in ("direct", "cot"):
        result = await answer("Is it?", method, context, given=PASSAGES)
        assert (result["answer"], result["unknown"]) == (answer_text, answer_text == "unknown")


@pytest.mark.parametrize("method", ["blendfilter", "direct", "cot"])
async def test_unsupported_answer_types_are_a_setup_error(method: str) -> None:
    model = ScriptedModel()
    with pytest.raises(SetupError, match="does not serve answer_type='label'; set answer_type to short or yes_no"):
        await answer("Claim.", method, Context(model=model, answer_type="label"), given=PASSAGES)
