"""The graphs: their list, their drawings, their forms in Studio, and how they are run."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from answering_model import make_answering_model, script_answers
from langgraph.checkpoint.memory import InMemorySaver
from method_fixtures import PASSAGES, QUESTION

from docs.tables import make_langgraph_json
from quorum import graphs
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.graphs import METHODS, answer, answer_sync
from quorum.models import chat_model
from quorum.models.scripted import ScriptedModel

TESTS_FOLDER = Path(__file__).parents[1]
METHOD_NAMES = [
    *("concat", "post_fusion", "pruning", "summary", "concat_pf", "pf_concat"),
    *("no_retrieval", "base", "rerank", "replug", "zero_shot_cot", "selection_inference", "self_verification"),
    *("filco", "blendfilter", "direct", "cot", "react", "agent", "self_ask", "iter_retgen"),
    *("sure", "mcq", "sum_and_pred", "hyde", "full_documents", "self_route", "crag"),
]
READING_METHODS = [name for name in METHOD_NAMES if name != "no_retrieval"]
RESULT_KEYS = {
    *("answer", "answer_text", "unknown", "confidence", "rationale", "evidence", "votes", "candidates", "summaries"),
    *("passages", "citations", "answer_type"),
    *("voters_without_evidence", "certified", "retrieved", "validity", "scores", "action"),
    *("usage", "malformed", "wordy_answers", "temperature_refused", "dropped", "withheld"),
}


def test_the_package_exports_what_its_all_lists() -> None:
    assert graphs.__all__ == [
        "DEFAULT_METHOD",
        "METHODS",
        "Method",
        "answer",
        "answer_sync",
        "find_method",
        "list_methods",
    ]
    assert all(hasattr(graphs, name) for name in graphs.__all__)


def test_every_method_is_listed_with_its_cost() -> None:
    assert list(METHODS) == METHOD_NAMES
    assert graphs.DEFAULT_METHOD == "concat_pf"
    # (calls, depth): the docstring of `graphs.catalogue.Method` explains these formulas.
    assert {name: (method.calls, method.depth) for name, method in METHODS.items()} == {
        "concat": ("n", "1"),
        "post_fusion": ("k*n", "1"),
        "pruning": ("1", "1"),
        "summary": ("1", "1"),
        "concat_pf": ("n + [unknown] k*n", "1 or 2"),
        "pf_concat": ("k*n + n", "2"),
        "no_retrieval": ("n", "1"),
        "base": ("n", "1"),
        "rerank": ("k*n", "1"),
        "replug": ("k*n", "1"),
        "zero_shot_cot": ("1", "1"),
        "selection_inference": ("1 + k", "1 + k"),
        "self_verification": ("5 + [d > 1] 11d", "1 or 3"),
        "filco": ("1 + n", "2"),
        "blendfilter": ("11", "5"),
        "direct": ("1", "1"),
        "cot": ("1", "1"),
        "react": ("1..2s+2", "1..2s+2"),
        "agent": ("1..s+1", "1..s+1"),
        "self_ask": ("1..2s+1", "1..2s+1"),
        "iter_retgen": ("T", "T"),
        "sure": ("1 + 2K + K(K-1)", "3"),
        "mcq": ("2", "2"),
        "sum_and_pred": ("2", "2"),
        "hyde": ("1 + n", "2"),
        "full_documents": ("n", "1"),
        "self_route": ("n + [unknown] n", "1 or 2"),
        "crag": ("n + [not correct] 1 + [evaluator=llm] (k+1)", "1..4"),
    }
    assert all(method.graph.name == name for name, method in METHODS.items())


def test_listing_methods_imports_no_langgraph() -> None:
    code = (
        "import sys, quorum.graphs; print([m for m in ('langgraph', 'langchain_core', 'chromadb') if m in sys.modules])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=TESTS_FOLDER.parent, stdout=subprocess.PIPE, text=True, check=True
    )
    assert process.stdout.strip() == "[]"


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_the_drawing_equals_its_snapshot(name: str) -> None:
    """Run with QUORUM_SNAPSHOTS=update in the environment to write the snapshots anew."""
    drawn = METHODS[name].graph.get_graph().draw_mermaid()
    snapshot = TESTS_FOLDER / "snapshots" / f"{name}.mmd"
    if UPDATE_SNAPSHOTS:
        snapshot.write_text(drawn, encoding="utf-8")
    assert drawn == snapshot.read_text(encoding="utf-8")


UPDATE_SNAPSHOTS = os.environ.get("QUORUM_SNAPSHOTS") == "update"  # read at import: during tests, fixtures hide it


def test_every_graph_has_a_snapshot_and_no_snapshot_is_left_over() -> None:
    assert {path.stem for path in (TESTS_FOLDER / "snapshots").glob("*.mmd")} == set(METHOD_NAMES)


def test_langgraph_json_names_every_method_by_module() -> None:
    text = (TESTS_FOLDER.parent / "langgraph.json").read_text(encoding="utf-8")
    assert text == make_langgraph_json(), "run: make readme"
    config = json.loads(text)
    assert all(graph["description"].endswith(".") for graph in config["graphs"].values())
    paths = {name: graph["path"] for name, graph in config["graphs"].items()}
    assert paths.pop("chat") == "quorum.graphs.conversation:graph"
    assert paths == {name: f"quorum.graphs.{name}:graph" for name in METHOD_NAMES}
    for name, path in paths.items():
        module, _, variable = path.partition(":")
        assert getattr(import_module(module), variable) is METHODS[name].graph


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_the_json_schemas_list_the_inputs_results_and_settings_that_studios_forms_show(name: str) -> None:
    graph = METHODS[name].graph
    assert set(graph.get_input_jsonschema()["properties"]) == {"question", "given", "gold_answers"}
    assert set(graph.get_output_jsonschema()["properties"]) == RESULT_KEYS
    form = graph.get_context_jsonschema()
    assert form is not None
    assert form["properties"]["k"]["default"] == 5


@pytest.mark.parametrize("name", METHOD_NAMES)
async def test_a_context_may_be_an_object_or_a_mapping(name: str) -> None:
    inputs: Any = {"question": QUESTION, "given": PASSAGES}
    model = make_answering_model()
    for context in (Context(model=model, k=2), {"model": model, "k": 2}):
        result = await METHODS[name].graph.ainvoke(inputs, context=context)
        assert set(result) == RESULT_KEYS
        assert (result["answer"], result["unknown"]) == ("1931", False)
        # iter_retgen searches with its reasoning and hyde with its made-up passage; they return what this search finds.
        expected_ids = {"no_retrieval": "", "iter_retgen": "p1 p3", "hyde": "p1 p3", "full_documents": "p1 p2 p3 p4 p5"}
        assert " ".join(passage["id"] for passage in result["passages"]) == expected_ids.get(name, "p1 p2")


@pytest.mark.parametrize("name", METHOD_NAMES)
async def test_without_a_context_defaults_and_environment_apply(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORUM_MODEL", "scripted")
    model = chat_model("scripted")
    assert isinstance(model, ScriptedModel)
    script_answers(model)
    # Six passages are given, and the default k lets the method read five of them; full_documents reads all.
    result = await METHODS[name].graph.ainvoke({"question": QUESTION, "given": [*PASSAGES, PASSAGES[0]]})
    assert set(result) == RESULT_KEYS
    count = {"no_retrieval": 0, "full_documents": 6}.get(name, 5)
    assert (result["answer"], len(result["passages"])) == ("1931", count)


@pytest.mark.parametrize("name", METHOD_NAMES)
async def test_two_questions_on_one_thread_do_not_mix(name: str) -> None:
    builder = METHODS[name].graph.builder
    graph = builder.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    alone = await METHODS[name].graph.ainvoke(
        {"question": "Second?", "given": PASSAGES[3:]}, context=Context(model=make_answering_model("1929"))
    )
    await graph.ainvoke(
        {"question": QUESTION, "given": PASSAGES[:3], "gold_answers": ["1931"]},
        thread,
        context=Context(model=make_answering_model()),
    )
    second = await graph.ainvoke(
        {"question": "Second?", "given": PASSAGES[3:]}, thread, context=Context(model=make_answering_model("1929"))
    )
    assert second == alone


@pytest.mark.parametrize("name", READING_METHODS)
async def test_the_passages_of_one_question_do_not_serve_the_next(name: str) -> None:
    graph = METHODS[name].graph.builder.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    await graph.ainvoke(
        {"question": QUESTION, "given": PASSAGES[:1]}, thread, context=Context(model=make_answering_model())
    )
    assert (await graph.aget_state(thread)).values["given"] is None
    with pytest.raises(SetupError, match="nowhere"):
        await graph.ainvoke(
            {"question": QUESTION}, thread, context=Context(model=make_answering_model(), collection="nowhere")
        )


async def test_answer_gives_the_same_keys_for_every_method() -> None:
    for name in METHOD_NAMES:
        result = await answer(QUESTION, name, Context(model=make_answering_model()), given=PASSAGES)
        assert set(result) == RESULT_KEYS
        assert json.loads(json.dumps(result)) == result


@pytest.mark.parametrize("replies", [["1931"], ["unknown"] * (1 + len(PASSAGES))])
async def test_answer_uses_the_default_method(replies: list[str]) -> None:
    """As the number of calls shows, concat_pf ran: one call, and one for each passage if the first finds no answer."""
    model = ScriptedModel().on("answer", *replies)
    result = await answer(QUESTION, context=Context(model=model), given=PASSAGES)
    assert result["usage"]["answer"]["calls"] == len(replies)


async def test_answer_passes_its_config_on() -> None:
    started_names: list[str] = []

    class NameRecorder(get_callback_class()):  # type: ignore[misc]
        def on_chain_start(self, serialized: Any, inputs: Any, **kwargs: Any) -> None:
            started_names.append(kwargs["name"])

        def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
            started_names.append(kwargs["name"])

    await answer(
        QUESTION,
        "post_fusion",
        Context(model=make_answering_model(), k=1),
        given=PASSAGES,
        config={"callbacks": [NameRecorder()]},
    )
    assert [
        name for name in started_names if name in ("post_fusion", "begin", "retrieve", "vote", "answer: passage 1")
    ] == [*("post_fusion", "begin", "retrieve", "retrieve", "answer: passage 1", "vote")]  # the node, then its graph


def get_callback_class() -> Any:
    from langchain_core.callbacks import BaseCallbackHandler

    return BaseCallbackHandler


def test_answer_sync_without_a_loop() -> None:
    assert answer_sync(QUESTION, "concat", Context(model=make_answering_model()), given=PASSAGES)["answer"] == "1931"


async def test_answer_sync_inside_a_running_loop() -> None:
    await asyncio.sleep(0)
    assert answer_sync(QUESTION, "concat", Context(model=make_answering_model()), given=PASSAGES)["answer"] == "1931"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"question": " "}, "The question is empty"),
        (
            {"question": QUESTION, "method": "concatenate"},
            "no method 'concatenate'; .* methods are: concat, post",
        ),
        ({"question": QUESTION, "given": []}, "given passages is empty"),
        ({"question": QUESTION, "given": [{"id": "x"}]}, "Given passage 1"),
    ],
)
def test_mistakes_are_setup_errors(arguments: dict[str, Any], message: str) -> None:
    model = ScriptedModel()
    with pytest.raises(SetupError, match=message):
        answer_sync(context=Context(model=model), **{"given": PASSAGES, **arguments})
    assert model.history == []


async def test_dollar_signs_in_question_and_passages_are_kept() -> None:
    model = make_answering_model("$5")
    passages = [Passage(id="$x", title="${title}", text="It costs $5, not $question.")]
    result = await answer("How much is $question in ${passages}?", "pf_concat", Context(model=model), given=passages)
    assert result["evidence"] == [{"passage": "$x", "start": 9, "end": 11}]
    assert "Question: How much is $question in ${passages}?" in model.history[0].text


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, copy_sample_vectors: Callable[[Path], None]) -> str:
    folder = tmp_path_factory.mktemp("sample") / "store"
    copy_sample_vectors(folder)
    return str(folder)


@pytest.mark.parametrize("name", READING_METHODS)
async def test_without_settings_a_question_is_answered_from_the_sample(
    name: str, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No context: the embedded model over the sample collection."""
    monkeypatch.setenv("QUORUM_STORE", store)
    result = await METHODS[name].graph.ainvoke({"question": "Who wrote the Zen of Python?"})
    assert "Tim Peters" in result["answer"]
    assert result["passages"][0]["title"] == "Python (programming language)"
    assert result["evidence"][0]["passage"] in {passage["id"] for passage in result["passages"]}
    # pf_concat returns the passages that gave an answer, blendfilter and filco those that their filters keep.
    assert len(result["passages"]) == 5 or name in ("pf_concat", "blendfilter", "filco")
    assert (result["malformed"], result["dropped"]) == ({}, 0)
