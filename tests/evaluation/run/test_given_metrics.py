"""Metrics of the caller: plain functions given to `evaluate` and `compare`, or named by --metric."""

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest
from quorum_command import Quorum

import quorum as library
from quorum.core.errors import SetupError

PASSAGE = {"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn in 1874."}
RECORDS = [
    {"id": "a", "question": "Who built the lighthouse?", "answers": ["Ada Korn"], "passages": [PASSAGE]},
    {"id": "b", "question": "When was it built?", "answers": ["1874"], "passages": [PASSAGE]},
]


def words(result: Any, reference: Any) -> int:
    return len(result["answer"].split())


def is_gold_in_first_passage(result: Any, reference: Any) -> bool:
    return reference["answers"][0] in result["passages"][0]["text"]


def test_a_plain_function_is_a_metric_of_every_answer() -> None:
    evaluation = library.evaluate(RECORDS, "concat,post_fusion", metrics=[words, is_gold_in_first_passage], out="out")
    assert [row["words"] for row in evaluation.table] == [1.5, 1.5]
    assert [row["is_gold_in_first_passage"] for row in evaluation.table] == [1.0, 1.0]
    assert {row["id"]: row["words"] for row in evaluation.rows if row["method"] == "concat"} == {"a": 2, "b": 1}
    assert "words" in str(evaluation).splitlines()[0]
    summary = json.loads(Path("out/summary.json").read_text())
    assert summary["concat"]["words"] == 1.5


def test_another_evaluation_does_not_have_it() -> None:
    library.evaluate(RECORDS, "concat", metrics=[words], out="with")
    evaluation = library.evaluate(RECORDS, "concat", out="without")
    assert "words" not in evaluation.table[0]
    assert "words" not in evaluation.rows[0]


def test_a_changed_function_is_another_run() -> None:
    def words(result: Any, reference: Any) -> int:
        return len(result["answer"])

    first = library.evaluate(RECORDS, "concat", metrics={"words": globals()["words"]})
    second = library.evaluate(RECORDS, "concat", metrics=[words])
    assert first.folder != second.folder
    assert (first.table[0]["words"], second.table[0]["words"]) == (1.5, 6.0)
    with pytest.raises(SetupError, match="another configuration"):
        library.evaluate(RECORDS, "concat", metrics=[words], out=first.folder)


def test_compare_measures_by_it_and_the_report_shows_it() -> None:
    comparison = library.compare("given", RECORDS, methods="concat,sure", metrics=[words], out="comparison")
    assert comparison.evaluation.table[0]["words"] == 1.5
    assert "words" in Path("comparison/report.html").read_text(encoding="utf-8")


def test_a_metric_that_fails_loses_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    def broken(result: Any, reference: Any) -> float:
        raise KeyError("colour")

    evaluation = library.evaluate(RECORDS, "concat", metrics=[broken], out="out")
    assert (evaluation.table[0]["em"], evaluation.table[0]["broken"]) == (1.0, None)
    assert caplog.text.count("The metric 'broken' that you gave failed on an answer (KeyError: 'colour')") == 1


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([lambda result, reference: 1], "give it one"),
        ([lambda: 1], "give it one"),
        ({"short": lambda: 1}, "does not take two arguments"),
        ({"em": words}, "There is a metric 'em' already"),
        ({"answer": words}, "There is a metric 'answer' already"),
        ([words, words], "There is a metric 'words' already"),
        ({"words": 3}, "is no function"),
    ],
)
def test_what_is_no_metric_is_refused_before_the_run(metrics: Any, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        library.evaluate(RECORDS, "concat", metrics=metrics, out="out")
    assert not Path("out").exists()


@pytest.fixture
def questions(tmp_path: Path) -> str:
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    (tmp_path / f"own_metrics_{os.getpid()}.py").write_text(
        "def words(result, reference):\n    return len(result['answer'].split())\n"
    )
    return str(path)


def test_the_command_takes_metrics_and_show_prints_them_again(quorum: Quorum, questions: str) -> None:
    module = f"own_metrics_{os.getpid()}"
    run = quorum("eval", questions, "--methods", "concat", "--metric", f"{module}:words", "--out", "out")
    assert run.code == 0
    assert "words" in run.out.splitlines()[0]
    assert quorum("show", "out").out.splitlines()[0] == run.out.splitlines()[0]
    rows = list(csv.DictReader(quorum("show", "out", "--csv").out.splitlines()))
    assert (rows[0]["method"], float(rows[0]["words"])) == ("concat", 1.5)
    for item in (f"{module}:no", "words", "x=", "em=" + f"{module}:words"):
        wrong = quorum("eval", questions, "--methods", "concat", "--metric", item, "--out", "other")
        assert (wrong.code, wrong.out, wrong.err.count("\n")) == (2, "", 1), item
