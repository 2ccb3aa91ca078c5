"""Answer types: with answer_type=auto each question gets the type that it asks for, or a short answer that says so."""

from typing import Any

import pytest

from quorum import Context, SetupError, answer
from quorum.core.state import Passage
from quorum.evaluation.shown.support import add_supporting_statement_and_language_note
from quorum.graphs import METHODS
from quorum.models.scripted import ScriptedModel
from quorum.nodes.answer_types import get_answer_type

PASSAGES: list[Passage] = [
    Passage(id="p1", title="Tower", text="The tower was finished in 1931. It is open on Sundays.")
]
BRIEF_METHODS = [
    *("pruning", "summary", "base", "no_retrieval", "zero_shot_cot", "direct", "cot", "react", "agent", "self_ask"),
    *("iter_retgen", "mcq", "sum_and_pred", "selection_inference", "self_verification", "blendfilter"),
]


@pytest.mark.parametrize(
    ("question", "prompt", "answer_type", "reply"),
    [
        ("When was it finished?", "answer", "short", "1931"),
        ("Is it open on Sundays?", "answer_yes_no", "yes_no", "Yes"),
        ("How do I get in?", "answer_long", "long", "By the door."),
    ],
)
async def test_the_prompt_follows_the_question(question: str, prompt: str, answer_type: str, reply: str) -> None:
    model = ScriptedModel().on(prompt, lambda _: reply)
    for method in ("concat", "post_fusion", "concat_pf", "filco"):
        context = Context(model=model, context_filter="embedded", filter_mode="full")
        result = await answer(question, method, context, given=PASSAGES)
        assert (result["answer_type"], result["unknown"]) == (answer_type, False)


def test_a_stated_type_wins() -> None:
    assert get_answer_type(Context(answer_type="long"), "Is it open?") == "long"
    assert get_answer_type(Context(), "Is it open?") == "yes_no"
    assert Context().answer_type == "auto"


@pytest.mark.parametrize("method", BRIEF_METHODS)
async def test_a_method_without_long_answers_answers_short_and_says_so(method: str) -> None:
    question = "How is the tower reached on foot?"
    result: Any = await answer(question, method, Context(), given=PASSAGES)
    assert result["answer_type"] == "short"
    shown = await add_supporting_statement_and_language_note(question, result, Context(), PASSAGES)
    assert (shown["note"] or "").startswith("The question asks for an explanation or steps")
    with pytest.raises(SetupError, match="does not serve answer_type='long'"):
        await answer(question, method, Context(answer_type="long"), given=PASSAGES)


async def test_a_method_with_long_answers_adds_no_note() -> None:
    question = "How is the tower reached on foot?"
    result = await answer(question, "concat", Context(), given=PASSAGES)
    assert result["answer_type"] == "long"
    assert (await add_supporting_statement_and_language_note(question, result, Context(), PASSAGES))["note"] is None


async def test_sure_answers_a_question_for_an_explanation_with_a_summary() -> None:
    question = "How is the tower reached on foot?"
    assert (await answer(question, "sure", Context(), given=PASSAGES))["answer_type"] == "long"
    result = await answer(question, "sure", Context(sure_parts="summaries"), given=PASSAGES)
    assert result["answer_type"] == "short"


def test_every_method_is_checked_here() -> None:
    long_methods = {"concat", "post_fusion", "concat_pf", "pf_concat", "rerank", "replug", "filco", "sure", "hyde"}
    long_methods |= {"full_documents", "self_route", "crag"}
    assert {*BRIEF_METHODS, *long_methods} == {name for name in METHODS if name not in ("chat",)}


@pytest.mark.parametrize(("shorten", "wording"), [("auto", "one sentence that says why"), ("off", "Write one word")])
async def test_a_yes_no_prompt_asks_why_except_in_the_papers_wording(shorten: Any, wording: str) -> None:
    model = ScriptedModel().on("answer_yes_no", "No. It is closed on Sundays.")
    context = Context(model=model, shorten=shorten, structured="off")
    result = await answer("Is it open on Sundays?", "concat", context, given=PASSAGES)
    assert wording in model.history[0].text
    assert (result["answer"], result["answer_text"]) == ("no", "No. It is closed on Sundays.")
    assert result["malformed"] == {}


async def test_the_kind_follows_the_rewritten_question() -> None:
    model = ScriptedModel().on("stand_alone", "How do I get into the tower?").on("answer_long", "By the door [1].")
    history = [{"role": "user", "content": "When was the tower finished?"}, {"role": "assistant", "content": "1931"}]
    result = await answer("And inside?", "concat", Context(model=model), given=PASSAGES, history=history)
    assert (result["answer_type"], result["answer_text"]) == ("long", "By the door [1].")
