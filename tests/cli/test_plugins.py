"""Every command offers what the package of examples/plugin adds. If a package fails, Quorum works without it."""

import json
from pathlib import Path
from typing import Any

import pytest
from plugin_package import EXAMPLE_PACKAGE, example_plugin, install_plugin
from quorum_command import Quorum
from retriever_names import LISTED_RETRIEVERS

from docs.tables import make_langgraph_json
from quorum.core.plugins import forget_plugins
from quorum.graphs import METHODS, answer_sync, list_methods
from quorum.retrievers.registry import RETRIEVERS, list_retrievers

__all__ = ["example_plugin"]  # a fixture, used by name

PASSAGES = [
    {"id": "p1", "title": "Vell", "text": "The lighthouse of Vell was built in 1874 by Ada Korn."},
    {"id": "p2", "title": "Orm", "text": "The mill of Orm was built by Per Lund."},
]
QUESTIONS = [
    {"id": "1", "question": "Who built the lighthouse of Vell ?", "answers": ["Ada Korn"], "passages": PASSAGES},
    {"id": "2", "question": "Who built the mill of Orm ?", "answers": ["Per Lund"], "passages": PASSAGES},
]


@pytest.fixture
def questions_file(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in QUESTIONS), encoding="utf-8")
    return path


def read_rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.usefixtures("example_plugin")
def test_a_plugins_method_is_listed_drawn_and_asked(quorum: Quorum) -> None:
    assert "shout" in quorum("methods").out
    assert "write_in_capitals" in quorum("methods", "shout", "--diagram").out
    result = answer_sync("Who built the lighthouse of Vell?", "shout", given=PASSAGES)  # type: ignore[arg-type]
    assert result["answer"] == "ADA KORN"


@pytest.mark.usefixtures("example_plugin")
def test_a_plugins_method_and_metric_are_columns_of_an_evaluation(
    quorum: Quorum, questions_file: Path, tmp_path: Path
) -> None:
    run = quorum("eval", str(questions_file), "--methods", "concat,shout", "--out", str(tmp_path / "out"))
    assert run.code == 0
    assert "brevity" in run.out
    # brevity is 1 divided by the number of words: "Ada Korn" and "Per Lund" have two.
    assert {row["method"]: row["brevity"] for row in read_rows(tmp_path / "out")} == {"concat": 0.5, "shout": 0.5}
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [summary[name]["brevity"] for name in ("concat", "shout")] == [0.5, 0.5]
    assert json.loads((tmp_path / "out" / "config.json").read_text())["metrics"] == ["brevity"]


@pytest.mark.usefixtures("example_plugin")
def test_the_list_of_methods_includes_a_plugins_method_and_a_comparison_reports_it(
    quorum: Quorum, questions_file: Path, tmp_path: Path
) -> None:
    assert list(list_methods()) == [*METHODS, "shout"]
    run = quorum("compare", "given", str(questions_file), "--methods", "concat,shout", "--out", str(tmp_path / "out"))
    assert run.code == 0
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "| shout |" in report
    assert "| brevity |" in report
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert '<th scope="col">brevity</th>' in page


@pytest.mark.usefixtures("example_plugin")
def test_a_plugins_retriever_is_chosen_by_an_option(quorum: Quorum, questions_file: Path, tmp_path: Path) -> None:
    assert list(list_retrievers()) == [*RETRIEVERS, "titles"]
    command = ("eval", str(questions_file), "--methods", "concat", "--corpus", "pool")
    options = ("--retriever", "titles", "--k", "1", "--store", str(tmp_path / "store"), "--out", str(tmp_path / "out"))
    assert quorum(*command, *options).code == 0
    assert {row["id"]: row["passages"] for row in read_rows(tmp_path / "out")} == {"1": ["p1"], "2": ["p2"]}
    run = quorum("ask", "Who?", "--retriever", "tittles")  # misspelt on purpose
    assert (run.code, f"choose one of: {LISTED_RETRIEVERS}, titles." in run.err) == (2, True)


@pytest.mark.usefixtures("example_plugin")
def test_a_plugins_file_type_is_indexed(quorum: Quorum, tmp_path: Path) -> None:
    (folder := tmp_path / "notes").mkdir()
    (folder / "vell.note").write_text(f"Vell\n{PASSAGES[0]['text']}\n", encoding="utf-8")
    store = ("--collection", "notes", "--store", str(tmp_path / "store"))
    assert "1 added" in quorum("index", str(folder), *store).out
    run = quorum("ask", "Who built the lighthouse of Vell?", *store, "--json")
    content = json.loads(run.out)
    assert (content["answer"], content["passages"][0]["title"]) == ("Ada Korn", "Vell")


@pytest.mark.usefixtures("example_plugin")
def test_langgraph_json_names_a_plugins_graph() -> None:
    graphs = json.loads(make_langgraph_json())["graphs"]
    paths = (graphs["shout"]["path"], graphs["concat"]["path"])
    assert paths == ("quorum_example:graph", "quorum.graphs.concat:graph")


def test_a_broken_package_leaves_quorum_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, quorum: Quorum
) -> None:
    entry_points = {
        "quorum.methods": {"broken": "broken_package:method", "concat": "broken_package:text"},
        "quorum.retrievers": {"number": "broken_package:number"},
    }
    install_plugin(tmp_path, monkeypatch, "broken-package", "text, number = 'no method', 3", entry_points)
    run = quorum("methods")
    assert run.code == 0
    assert "broken" not in run.out
    assert list(list_retrievers()) == list(RETRIEVERS)
    assert list(list_methods()) == list(METHODS)
    assert len(caplog.messages) == 3  # one for each entry point
    assert all("broken-package" in message for message in caplog.messages)
    forget_plugins()


def test_a_metric_that_fails_causes_a_warning_and_a_null_value(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    quorum: Quorum,
    questions_file: Path,
) -> None:
    # The first metric raises an error, and the second returns a text instead of a number.
    code = "def fails(outputs, reference):\n    raise ValueError('no luck')\n\ndef text(*_):\n    return 'long'\n"
    entry_points = {"quorum.metrics": {"fails": "failing_metric:fails", "text": "failing_metric:text"}}
    (site := tmp_path / "site").mkdir()
    install_plugin(site, monkeypatch, "failing-metric", code, entry_points)
    run = quorum("eval", str(questions_file), "--methods", "concat", "--out", str(tmp_path / "out"))
    assert run.code == 0
    assert [(row["em"], row["fails"], row["text"]) for row in read_rows(tmp_path / "out")] == [(1, None, None)] * 2
    assert (
        sum("no luck" in message for message in caplog.messages)
        == sum("returned str" in message for message in caplog.messages)
        == 1
    )
    forget_plugins()


def test_the_example_package_is_as_short_as_documented() -> None:
    lines = (EXAMPLE_PACKAGE / "quorum_example.py").read_text(encoding="utf-8").splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 45
