"""The method crag: golden traces of each action, the second search, what is kept of the text, and mistakes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from method_fixtures import KNOWN_ANSWER, PASSAGES, QUESTION, make_runtime, trace_method

from quorum.algorithms.corrective import choose_action, choose_strips, split_strips
from quorum.core.context import Context
from quorum.core.errors import SetupError, TooLong
from quorum.core.state import Passage, Result, State
from quorum.evaluation.run.eligibility import replace_paid_models
from quorum.graphs import answer
from quorum.models.scripted import ScriptedModel
from quorum.nodes.crag import keep_best_strips

PYTHON = "Python (programming language)"  # a title of the sample collection
MODELS = ("embedded", "openai:test")
WORSE_FIRST = [PASSAGES[1], PASSAGES[3], PASSAGES[0], PASSAGES[2], PASSAGES[4]]  # the answer is in the third and fourth


def script(*grades: str | Exception, keywords: str = "Lumen Tower") -> ScriptedModel:
    """A model that gives these grades to the first passages, copies the sentences with 1931, and answers."""
    model = ScriptedModel().on("keywords", keywords).on("answer", "1931").on("filter_sentences", copy_dated_sentences)
    for number, grade in enumerate(grades, start=1):
        model.on(f"grade: passage {number}", grade)
    return model


def copy_dated_sentences(sent: Sequence[BaseMessage]) -> str:
    texts = [passage["text"] for passage in PASSAGES if "1931" in passage["text"]]
    return "\n".join(text for text in texts if text in str(sent[-1].content)) or "None"


async def ask(model: ScriptedModel, given: list[Passage], **settings: Any) -> Result:
    """The result where two of the given passages are read first."""
    context = Context(model=model, **{"evaluator": "llm", "k": 2, "journal": "off", **settings})
    return await answer(QUESTION, "crag", context, given=given)


def list_ids(result: Result) -> str:
    return " ".join(passage["id"] for passage in result["passages"])


def list_calls(model: ScriptedModel) -> list[str]:
    return [call.name for call in model.history]


GRADE_CALLS = ["grade: passage 1", "grade: passage 2"]


async def test_a_correct_passage_is_enough() -> None:
    assert await trace_method("crag", script("Yes", "No", "No"), evaluator="llm") == [
        ("begin", {}),
        ("retrieve", {"passages": "p1 p2 p3"}),
        ("grade_passage", {"grades": [{"rank": 0, "grade": 1.0}]}),
        ("grade_passage", {"grades": [{"rank": 1, "grade": -1.0}]}),
        ("grade_passage", {"grades": [{"rank": 2, "grade": -1.0}]}),
        ("act_on_grades", {"action": "correct"}),
        ("copy_sentences", {"passages": "p1 p3", "retrieved": ["p1", "p2", "p3"]}),
        ("concat_answer", {**KNOWN_ANSWER, "confidence": None, "passages": "p1 p3"}),
        ("find_evidence", {"evidence": ["p1 32-36", "p3 33-37"]}),
    ]


async def test_where_nothing_new_is_found_the_first_passages_are_read() -> None:
    assert (await trace_method("crag", script("No", "No"), k=2, evaluator="llm"))[4:] == [
        ("act_on_grades", {"action": "incorrect"}),
        ("write_keywords", {"search_text": "Lumen Tower"}),
        ("search_again", {"action": "nothing new"}),
        ("copy_sentences", {"passages": "p1", "retrieved": ["p1", "p2"]}),
        ("concat_answer", {**KNOWN_ANSWER, "confidence": None, "passages": "p1"}),
        ("find_evidence", {"evidence": ["p1 32-36"]}),
    ]


async def test_incorrect_passages_give_way_to_those_of_a_second_search() -> None:
    model = script("No", "No")
    result = await ask(model, WORSE_FIRST)
    assert (result["action"], list_ids(result), result["answer"]) == ("incorrect", "p1 p3", "1931")
    assert result["retrieved"] == ["p2", "p4", "p1", "p3"]
    assert list_calls(model) == [*GRADE_CALLS, "keywords", "filter_sentences", "answer"]
    assert "Iron Mast" not in model.history[3].text  # an incorrect passage is not read again


async def test_ambiguous_passages_are_read_with_those_of_a_second_search() -> None:
    model = script("Partly", "No")
    result = await ask(model, WORSE_FIRST)
    assert (result["action"], list_ids(result)) == ("ambiguous", "p1 p3")
    shown = [model.history[3].text.index(passage["text"]) for passage in (*WORSE_FIRST[:2], PASSAGES[0], PASSAGES[2])]
    assert shown == sorted(shown)  # the first passages, then the new ones


@pytest.mark.parametrize("reply", ["I cannot judge this.", TooLong("too long")])
async def test_an_unreadable_grade_is_partly_and_a_passage_that_does_not_fit_is_a_no(reply: str | Exception) -> None:
    result = await ask(script(reply, "No"), WORSE_FIRST)
    is_unreadable = isinstance(reply, str)
    assert result["action"] == ("ambiguous" if is_unreadable else "incorrect")
    assert (result["malformed"].get("grade", {}).get("count"), result["dropped"]) == (
        (1, 0) if is_unreadable else (None, 1)
    )


async def test_without_keywords_the_question_is_searched_for_again() -> None:
    model = script("No", "No", keywords="Unknown")
    assert list_ids(await ask(model, WORSE_FIRST)) == "p1 p3"


async def test_if_the_model_copies_nothing_all_text_is_read() -> None:
    model = script("Yes", "No").on("filter_sentences", lambda _: "None")
    result = await ask(model, WORSE_FIRST)
    assert list_ids(result) == "p2 p4"


async def test_the_answering_prompt_is_that_of_concat() -> None:
    model = script("Yes", "No").on("filter_sentences", lambda _: "None")
    concat_model = ScriptedModel().on("answer", "1931")
    await ask(model, PASSAGES)
    await answer(QUESTION, "concat", Context(model=concat_model, k=2, journal="off"), given=PASSAGES)
    assert model.history[-1].text == concat_model.history[-1].text


async def test_the_built_in_evaluator_makes_no_call() -> None:
    model = ScriptedModel().on("answer", "1931")
    result = await ask(model, PASSAGES, evaluator="embedded")
    assert (result["action"], list_calls(model)) == ("correct", ["answer"])
    assert list(result["usage"]) == ["answer"]
    worse = ScriptedModel().on("answer", "1931").on("keywords", "Lumen Tower")
    assert (await ask(worse, WORSE_FIRST, evaluator="embedded", crag_lower=90, crag_upper=99))["action"] == "incorrect"
    assert list_calls(worse) == ["keywords", "answer"]


async def test_the_best_ten_strips_are_kept_in_their_order() -> None:
    sentences = [f"Stone {number} of the wall weighs much. It is grey. Nobody moved it." for number in range(12)]
    passage = Passage(id="p", title="", text=" ".join([*sentences, "The Lumen Tower was finished in 1931."]))
    update = await keep_best_strips(State(question=QUESTION, passages=[passage]), make_runtime())
    text = update["passages"][0]["text"]
    kept = [sentence for sentence in sentences if sentence in text]
    assert len(kept) == 9
    assert text == " ".join([*kept, "The Lumen Tower was finished in 1931."])
    assert update["retrieved"] == ["p"]


async def test_passages_without_a_strip_stay_as_they_are() -> None:
    state = State(question=QUESTION, passages=[Passage(id="p", title="", text="In 1931.")])
    assert await keep_best_strips(state, make_runtime()) == {}


def test_actions_and_strips() -> None:
    assert [choose_action(grades, 1.0, -2.0) for grades in ([None, 1.0], [0.9, -5.0], [-2.0], [-2.1], [None])] == [
        *("correct", "ambiguous", "ambiguous", "incorrect", "incorrect"),
    ]
    strips = split_strips([Passage(id="p", title="t", text="One is here. Two is here. Three is here. Four. Five.")])
    assert [strip.text for strip in strips] == ["One is here. Two is here. Three is here."]
    assert choose_strips(strips, [None]) == strips


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"crag_upper": -3.0}, r"crag_lower=0 is above crag_upper=-3; give a crag_lower"),
        ({"evaluator": "cross_encoder:a/b"}, "scale of the evaluator cross_encoder:a/b is not known; give crag_upper"),
    ],
)
async def test_limits_that_do_not_fit_are_refused_before_a_call(settings: dict[str, Any], message: str) -> None:
    model = script("Yes", "Yes")
    with pytest.raises(SetupError, match=message):
        await ask(model, PASSAGES, **settings)
    assert model.history == []


async def test_a_second_retriever_searches_although_passages_are_given(
    tmp_path: Path, copy_sample_vectors: Callable[[Path], None]
) -> None:
    copy_sample_vectors(tmp_path / "store")
    model = script("No", "No", keywords="Zen of Python")
    result = await ask(model, WORSE_FIRST[:2], second_retriever="bm25", store=str(tmp_path / "store"))
    assert (result["action"], len(result["retrieved"] or [])) == ("incorrect", 4)
    assert "Python (programming language)" in {passage["title"] for passage in result["passages"]}


@pytest.mark.parametrize("method", ["crag", "concat>crag"])
async def test_a_second_retriever_searches_only_what_passes_the_filter(
    method: str, tmp_path: Path, copy_sample_vectors: Callable[[Path], None]
) -> None:
    copy_sample_vectors(tmp_path / "store")
    given = [Passage(id="g", title=PYTHON, text="The tower of Vell was built later.")]
    model = script("No", keywords="Python language Guido van Rossum Zen of Python").on("answer", lambda _: "unknown")
    context = Context(
        model=model,
        evaluator="llm",
        k=3,
        journal="off",
        second_retriever="bm25",
        store=str(tmp_path / "store"),
        where={"title": PYTHON},
    )
    result = await answer(QUESTION, method, context, given=given)
    assert (result["action"], {passage["title"] for passage in result["passages"]}) == ("incorrect", {PYTHON})


async def test_a_second_search_does_not_bring_back_what_the_context_filter_left_out() -> None:
    """Of the first passages only the third is kept by the filter; the second search finds the others again."""
    given = [*WORSE_FIRST[:2], PASSAGES[0]]
    result = await ask(script("No", keywords="tower"), given, context_filter="llm", k=3)
    assert (result["action"], list_ids(result)) == ("nothing new", "p1")


async def test_where_the_filter_leaves_nothing_and_nothing_new_is_found_the_answer_is_that_of_concat() -> None:
    results, prompts = [], []
    for method in ("crag", "concat"):
        model = script(keywords="tower").on("filter_sentences", lambda _: "None")
        context = Context(model=model, context_filter="llm", evaluator="llm", k=3, journal="off")
        results.append(await answer(QUESTION, method, context, given=PASSAGES[:3]))
        prompts.append(model.history[-1].text)
    crag, concat = results
    assert crag["action"] == "nothing new"
    for key in ("answer", "unknown", "passages", "retrieved", "evidence"):
        assert crag[key] == concat[key]  # type: ignore[literal-required]
    assert prompts[0] == prompts[1]


async def test_an_unknown_second_retriever_is_refused_before_a_call() -> None:
    model = script("No", "No")
    with pytest.raises(SetupError, match="nowhere"):
        await ask(model, PASSAGES, second_retriever="nowhere")
    assert model.history == []


async def test_checks_before_the_first_call_do_not_ask_the_second_retriever(tmp_path: Path) -> None:
    context = Context(model=script(), second_retriever="bm25", store=str(tmp_path), k=2, journal="off")
    result = await answer(QUESTION, "concat>crag", context, given=PASSAGES)
    assert result["answer"] == "1931"
    checked = [replace_paid_models(Context(model=model, second_retriever="bm25"), "crag") for model in MODELS]
    assert [unpaid.second_retriever for unpaid in checked] == [None, None]
