"""`quorum.evaluate` and `quorum.compare`: they work in a script and in a running loop, and return plain data."""

import asyncio
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import StateGraph
from openai_server import LONGEST_WAIT, OpenAIServer

from quorum import Context, SetupError, compare, compare_async, evaluate, evaluate_async
from quorum.core.state import Question, Result, State
from quorum.core.sync import run_sync
from quorum.graphs.parts.retrieve import retrieve
from quorum.nodes.answer import concat_answer
from quorum.nodes.begin import begin

PASSAGES = [{"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn in 1874."}]
RECORDS: list[dict[str, Any]] = [
    {"question": "Who built the lighthouse?", "answers": ["Ada Korn"], "passages": PASSAGES},
    {"question": "When was the lighthouse built?", "answers": ["1874"], "passages": PASSAGES},
]


def write_records(path: Path) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS), encoding="utf-8")
    return path


def test_an_evaluation_is_plain_data(tmp_path: Path) -> None:
    evaluation = evaluate(RECORDS, "concat,post_fusion[k=1]", out=tmp_path / "out")
    assert [(row["method"], row["n"], row["em"], row["errors"]) for row in evaluation.table] == [
        ("concat", 2, 1.0, 0),
        ("post_fusion[k=1]", 2, 1.0, 0),
    ]
    assert evaluation.measures == ("em", "f1")
    assert json.loads(json.dumps([evaluation.table, evaluation.differences, evaluation.rows])) == [
        evaluation.table,
        evaluation.differences,
        evaluation.rows,
    ]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert {row["method"]: {**row} for row in evaluation.table} == {
        name: {"method": name, **row} for name, row in summary.items()
    }
    assert [(row["method"], row["baseline"], row["measure"]) for row in evaluation.differences] == [
        ("post_fusion[k=1]", "concat", "em"),
        ("post_fusion[k=1]", "concat", "f1"),
    ]
    answers = [(row["id"], row["answer"]) for row in evaluation.rows if row["method"] == "concat"]
    assert sorted(answers) == [("1", "Ada Korn"), ("2", "1874")]  # rows stand in the order in which questions finished
    assert evaluation.spent["calls"] > 0


def test_the_same_call_repeated_continues_in_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first_evaluation = evaluate(RECORDS, "concat")
    second_evaluation = evaluate(iter(RECORDS), ["concat"])
    assert first_evaluation.folder == second_evaluation.folder
    assert (second_evaluation.spent["calls"], second_evaluation.table) == (0, first_evaluation.table)
    assert list(tmp_path.rglob("questions.jsonl")) == []  # the temporary file of the records is removed


async def test_an_evaluation_works_inside_a_running_loop(tmp_path: Path) -> None:
    sync_evaluation = evaluate(RECORDS, "concat", out=tmp_path / "one")
    async_evaluation = await evaluate_async(
        write_records(tmp_path / "questions.jsonl"), "concat", out=tmp_path / "two", limit=1
    )
    assert [item.table[0]["n"] for item in (sync_evaluation, async_evaluation)] == [2, 1]


def test_every_method_uses_the_settings_of_the_context(tmp_path: Path, openai_server: OpenAIServer) -> None:
    openai_server.reply(lambda _: "Ada Korn")
    evaluation = evaluate(RECORDS, "concat,base", context=Context(model="openai:test"), out=tmp_path / "out")
    assert [row["em"] for row in evaluation.table] == [0.5, 0.5]
    assert len(openai_server.chats()) == evaluation.spent["calls"] == 4


def test_a_corpus_is_indexed_and_searched(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "vell.txt").write_text(PASSAGES[0]["text"], encoding="utf-8")
    records_without_passages = [{key: record[key] for key in ("question", "answers")} for record in RECORDS]
    assert evaluate(records_without_passages, "concat", corpus=corpus, context=Context(k=1)).table[0]["em"] == 1.0


def test_a_users_own_graph_is_evaluated_beside_the_methods(tmp_path: Path) -> None:
    graph = (
        StateGraph(State, input_schema=Question, output_schema=Result, context_schema=Context)
        .add_node(begin)
        .add_node(retrieve)
        .add_node(concat_answer)
        .add_edge("__start__", "begin")
        .add_edge("begin", "retrieve")
        .add_edge("retrieve", "concat_answer")
        .add_edge("concat_answer", "__end__")
        .compile(name="mine")
    )
    assert [row["method"] for row in evaluate(RECORDS, ["concat", graph], out=tmp_path / "a").table] == [
        "concat",
        "mine",
    ]
    assert [row["method"] for row in evaluate(RECORDS, graph, out=tmp_path / "b").table] == ["mine"]
    comparison = compare("given", RECORDS, methods=[graph], out=tmp_path / "c")
    assert comparison.best == "mine"


def test_a_comparison_recommends_a_method(tmp_path: Path) -> None:
    comparison = compare("given", RECORDS, methods=["concat", "sure"], out=tmp_path / "out", budget="calls=3")
    assert (comparison.best, comparison.cheapest, comparison.front) == ("concat", "concat", ["concat"])
    assert comparison.report.is_file()
    assert comparison.sentences[0].startswith("concat is the only method within 3 calls a question")
    assert {row["name"]: row["calls"] for row in comparison.figures} == {"concat": 1.0, "sure": 7.0}
    assert [row["name"] for row in comparison.estimate] == ["concat", "sure"]
    assert [row["method"] for row in comparison.evaluation.table] == ["concat", "sure"]
    assert str(comparison).startswith(f"{comparison.headline}\n{comparison.summary[0]}\n")
    assert comparison.figure.svg == (comparison.report.parent / "figure.svg").read_text(encoding="utf-8")
    assert comparison.figure.svg in comparison._repr_html_()


async def test_compare_async_runs_every_method_with_every_k(tmp_path: Path) -> None:
    """The corpus "pool" consists of the passages of all questions."""
    comparison = await compare_async("pool", RECORDS, methods="concat", k=[1, 2], out=tmp_path / "out")
    assert [row["name"] for row in comparison.figures] == ["concat[k=1]", "concat[k=2]"]
    second_comparison = compare("pool", RECORDS, methods="concat", k=[1, 2], out=tmp_path / "out")
    assert second_comparison.evaluation.spent["calls"] == 0


@pytest.mark.parametrize(
    ("data", "methods", "match"),
    [
        ([], "concat", "holds no questions"),
        (RECORDS, "conct", "did you mean concat"),
        (RECORDS, [], "No method is named"),
        ([{"question": {1, 2}}], "concat", "cannot be written as JSON"),
        ([{"answers": []}], "concat", "line 1"),
        ("missing.jsonl", "concat", "There is no file"),
    ],
)
def test_invalid_input_is_a_setup_error(data: Any, methods: Any, match: str) -> None:
    with pytest.raises(SetupError, match=match):
        evaluate(data, methods)


def test_an_invalid_budget_is_a_setup_error() -> None:
    with pytest.raises(SetupError, match="budget"):
        compare("given", RECORDS, budget="cheap")


def test_an_interrupt_in_a_running_loop_cancels_the_work(ctrl_c_raises: None) -> None:
    work_has_begun, outcomes = threading.Event(), list[str]()

    async def work() -> None:
        work_has_begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            outcomes.append("cancelled")
            raise

    async def run_cell() -> None:
        """Like a notebook's cell: it calls synchronous code while a loop is running."""
        run_sync(work())

    def interrupt() -> None:
        work_has_begun.wait(LONGEST_WAIT)
        os.kill(os.getpid(), signal.SIGINT)

    loop, thread = asyncio.new_event_loop(), threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(run_cell())
    finally:
        thread.join()
        loop.close()
    assert outcomes == ["cancelled"]
