"""`quorum results` lists runs; `quorum show` prints the tables of one again."""

import csv
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from quorum_command import Quorum

PASSAGE = {"id": "1", "title": "Vell", "text": "The lighthouse of Vell was built by Ada Korn in 1874."}
RECORDS = [
    {"id": "a", "question": "Who built the lighthouse?", "answers": ["Ada Korn"], "passages": [PASSAGE]},
    {"id": "b", "question": "When was it built?", "answers": ["1875"], "passages": [PASSAGE]},
]


@pytest.fixture
def run_folder(quorum: Quorum, tmp_path: Path) -> Path:
    """The results of two methods, in results/first."""
    questions = tmp_path / "handbook" / "questions.jsonl"
    questions.parent.mkdir()
    questions.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    methods = "concat,post_fusion[k=3]"
    assert quorum("eval", str(questions), "--methods", methods, "--out", "results/first").code == 0
    return tmp_path / "results" / "first"


def test_runs_are_listed_with_data_models_methods_and_date_the_latest_first(quorum: Quorum, run_folder: Path) -> None:
    stopped = run_folder.with_name("stopped")
    shutil.copytree(run_folder, stopped)
    (stopped / "summary.json").unlink()
    os.utime(stopped / "results.jsonl", (4e9, 4e9))  # the last
    runs = json.loads(quorum("results", "--json").out)
    assert [run["folder"] for run in runs] == ["results/stopped", "results/first"]
    first = next(run for run in runs if run["folder"] == "results/first")
    assert first["data"] == "handbook/questions.jsonl"  # the file's own name says little
    assert first["methods"] == ["concat", "post_fusion[k=3]"]
    assert (first["models"], first["questions"], first["finished"]) == (["embedded"], 2, True)
    table = quorum("results").out
    assert "post_fusion[k=3]" in table
    assert table.count("stopped") == 2  # the folder's name, and the state


def test_the_same_questions_in_another_folder_continue_the_run(
    quorum: Quorum, run_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "handbook").rename(tmp_path / "manual")
    questions, methods = tmp_path / "manual" / "questions.jsonl", "concat,post_fusion[k=3]"
    again = quorum("eval", str(questions), "--methods", methods, "--out", "results/first")
    assert (again.code, "made 0 calls now" in again.err) == (0, True), again.err


def test_a_run_of_an_older_version_is_listed_without_the_folder_of_its_data(quorum: Quorum, run_folder: Path) -> None:
    config_file = run_folder / "config.json"
    config = json.loads(config_file.read_text())
    del config["data_folder"]
    config_file.write_text(json.dumps(config))
    (run,) = json.loads(quorum("results", "--json").out)
    assert run["data"] == "questions.jsonl"


def test_show_prints_the_tables_that_eval_printed(quorum: Quorum, run_folder: Path) -> None:
    shown = quorum("show", str(run_folder))
    assert (shown.code, shown.err) == (0, "")
    assert "post_fusion[k=3]" in shown.out
    assert "Difference from concat" in shown.out
    summary = json.loads(quorum("show", str(run_folder), "--json").out)["summary"]
    assert summary == json.loads((run_folder / "summary.json").read_text())


def test_csv_has_every_measure_with_a_value(quorum: Quorum, run_folder: Path) -> None:
    rows = list(csv.DictReader(quorum("show", str(run_folder), "--csv").out.splitlines()))
    assert [row["method"] for row in rows] == ["concat", "post_fusion[k=3]"]
    assert (float(rows[0]["em"]), float(rows[0]["calls"])) == (0.5, 1.0)
    assert "rouge_l" not in rows[0]


def test_latex_is_a_table_that_latex_reads(quorum: Quorum, run_folder: Path, tmp_path: Path) -> None:
    latex = quorum("show", str(run_folder), "--latex").out
    lines = latex.splitlines()
    columns = next(line for line in lines if line.startswith("\\begin")).partition("{l")[2].rstrip("}")
    rows = [line for line in lines if line.endswith("\\\\")]
    assert len(rows) == 3
    assert {line.count(" & ") for line in rows} == {len(columns)}
    assert rows[2].startswith("post\\_fusion[k=3] & 2 & ")
    assert "\\%Unk" in rows[0]
    if shutil.which("pdflatex") is not None:
        document = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}{latex}\\end{{document}}"
        (tmp_path / "t.tex").write_text(document)
        subprocess.run(["pdflatex", "-halt-on-error", "t.tex"], cwd=tmp_path, check=True, capture_output=True)


def test_a_stopped_run_shows_its_answers_so_far(quorum: Quorum, run_folder: Path) -> None:
    (run_folder / "summary.json").unlink()
    (run_folder / "comparison.json").unlink()
    shown = quorum("show", str(run_folder))
    assert shown.code == 0
    assert "this run was stopped" in shown.err
    assert "50.0" in shown.out


def test_bad_input_is_one_sentence(quorum: Quorum, run_folder: Path, tmp_path: Path) -> None:
    (run_folder / "results.jsonl").with_name("comparison.json").write_text("{")
    (tmp_path / "empty").mkdir()
    for arguments, sentence in [
        (["results", "nowhere"], "There is no folder nowhere"),
        (["show", "nowhere"], "holds no results.jsonl"),
        (["show", "empty"], "holds no results.jsonl"),
        (["show", str(run_folder)], "comparison.json cannot be read"),
        (["show", str(run_folder), "--latex", "--csv"], "give one of them"),
    ]:
        run = quorum(*arguments)
        assert (run.code, run.out, run.err.count("\n")) == (2, "", 1), arguments
        assert sentence in run.err
    assert "There are no runs in empty yet" in quorum("results", "empty").out
