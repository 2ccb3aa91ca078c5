"""The folder of an evaluation: results.jsonl, its summary, the check of config.json, and the check of the data."""

import json
from pathlib import Path
from typing import Any

import pytest

from quorum.core.errors import SetupError
from quorum.evaluation.run.column_scores import Row, list_measure_names
from quorum.evaluation.run.config_file import write_or_check_config
from quorum.evaluation.run.dataset import read_data
from quorum.evaluation.run.results import Results


def make_row(id_: str, method: str = "concat", **fields: Any) -> Row:
    """A row of results.jsonl for an answered question, or for a failed one if `error` is given."""
    measures = {
        "em": 1.0,
        "f1": 1.0,
        "unknown": False,
        "right_answer_outvoted": None,
        "right_answer_among_votes": None,
        "calls": 1,
    }
    counts = {"input_tokens": 10, "output_tokens": 2, "malformed": 0, "error": None}
    row_values: Any = {"id": id_, "method": method, **measures, **counts, **fields}
    return row_values


def test_means_are_over_answered_questions_and_counts_over_all(tmp_path: Path) -> None:
    with Results(tmp_path / "results.jsonl", ["concat"]) as results:
        results.append(make_row("1", em=1.0, f1=1.0, calls=1, malformed=1, seconds=1))
        results.append(make_row("2", em=0.0, f1=0.5, unknown=True, calls=6, malformed=1, seconds=3))
        results.append(make_row("3", em=None, f1=None, unknown=None, calls=None, malformed=None, error="no reply"))
        summary = results.summarize()["concat"]
    assert {name: value for name, value in summary.items() if value is not None} == {
        "n": 3,
        "em": 0.5,
        "em_low": 0.012579,  # Clopper and Pearson's interval of one right answer of two
        "em_high": 0.987421,
        "f1": 0.75,
        "f1_low": pytest.approx(0.108, abs=0.005),
        "f1_high": pytest.approx(0.994, abs=0.005),
        "unknown": 0.5,
        "calls": 3.5,
        "input_tokens": 10,
        "output_tokens": 2,
        "seconds_p50": 2,
        "seconds_p95": 2.9,
        "answers_not_timed": 0,
        "errors": 1,
        "malformed": 2,
        "wordy_answers": 0,
        "temperature_refused": 0,
    }
    assert set(list_measure_names()) < set(summary)


def test_seconds_leave_out_answers_with_a_stored_or_shared_call(tmp_path: Path) -> None:
    with Results(tmp_path / "results.jsonl", ["concat", "concat_pf"]) as results:
        results.append(make_row("1", seconds=1, reused_calls=0))
        results.append(make_row("2", seconds=9, reused_calls=1))
        results.append(make_row("1", "concat_pf", seconds=9, reused_calls=2))
        summary = results.summarize()
    assert (summary["concat"]["seconds_p50"], summary["concat"]["answers_not_timed"]) == (1, 1)
    assert (summary["concat_pf"]["seconds_p50"], summary["concat_pf"]["answers_not_timed"]) == (None, 1)


def test_a_question_without_a_vote_counts_as_not_outvoted(tmp_path: Path) -> None:
    with Results(tmp_path / "results.jsonl", ["concat_pf"]) as results:
        results.append(make_row("1", "concat_pf", right_answer_outvoted=True, right_answer_among_votes=True))
        results.append(make_row("2", "concat_pf", right_answer_outvoted=None, right_answer_among_votes=None))
        assert results.summarize()["concat_pf"]["right_answer_outvoted"] == 0.5


def test_a_method_that_answered_nothing_has_no_means(tmp_path: Path) -> None:
    with Results(tmp_path / "results.jsonl", ["concat"]) as results:
        results.append(make_row("1", error="no reply"))
        summary = results.summarize()["concat"]
    assert {name: value for name, value in summary.items() if value is not None} == {
        "n": 1,
        "errors": 1,
        "answers_not_timed": 0,
        "malformed": 0,
        "wordy_answers": 0,
        "temperature_refused": 0,
    }


def test_an_incomplete_line_that_a_killed_run_left_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    complete_line = json.dumps(make_row("1", em=1.0)) + "\n"
    path.write_text(complete_line + '{"id": "2", "method": "conc', encoding="utf-8")
    with Results(path, ["concat"]) as results:
        assert results.answered_pairs == {("concat", "1")}
        results.append(make_row("2"))
    assert [json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines()] == ["1", "2"]


def test_an_answer_in_a_later_run_replaces_an_error(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with Results(path, ["concat"]) as results:
        results.append(make_row("1", error="no reply"))
        assert results.answered_pairs == set()
    with Results(path, ["concat"]) as results:
        results.append(make_row("1", error="no reply again"))
        assert results.summarize()["concat"]["errors"] == 1
        results.append(make_row("1"))
        summary = results.summarize()["concat"]
    assert (summary["n"], summary["errors"], summary["em"]) == (1, 0, 1.0)


@pytest.mark.parametrize("line", ["nonsense", "[1]", "{}", '{"id": "1", "method": "other", "error": null}'])
def test_a_line_that_is_no_result_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    with pytest.raises(SetupError, match=r"results\.jsonl, line 1 is not a result"):
        Results(path, ["concat"])


def test_a_changed_configuration_is_refused_and_the_message_names_the_difference(tmp_path: Path) -> None:
    write_or_check_config(tmp_path, {"data": {"limit": 5}, "methods": {"concat": {"k": 5}}})
    (tmp_path / "results.jsonl").write_text("{}\n", encoding="utf-8")
    write_or_check_config(tmp_path, {"methods": {"concat": {"k": 5}}, "data": {"limit": 5}})
    with pytest.raises(SetupError, match=r"methods\.concat\.k was 5, now 10; methods\.summary was absent, now present"):
        write_or_check_config(tmp_path, {"data": {"limit": 5}, "methods": {"concat": {"k": 10}, "summary": {"k": 5}}})


@pytest.mark.parametrize("results_text", [None, ""])
def test_a_run_that_stopped_before_its_first_result_can_be_corrected(tmp_path: Path, results_text: str | None) -> None:
    write_or_check_config(tmp_path, {"methods": {"concat": {"k": 5}}})
    if results_text is not None:
        (tmp_path / "results.jsonl").write_text(results_text, encoding="utf-8")
    write_or_check_config(tmp_path, {"methods": {"concat": {"k": 10}}})
    assert json.loads((tmp_path / "config.json").read_text(encoding="utf-8")) == {"methods": {"concat": {"k": 10}}}


@pytest.mark.parametrize("files", [{"config.json": "{"}, {"results.jsonl": ""}])
def test_a_folder_that_is_no_evaluation_is_not_touched(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SetupError, match="--out"):
        write_or_check_config(tmp_path, {})
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == files


QUESTION = {"id": "1", "question": "Who?", "answers": ["me"]}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "holds no questions"),
        ([QUESTION, QUESTION], "'1' is there twice"),
        ([QUESTION | {"question": "  "}], "'1' is empty"),
        ([QUESTION | {"answers": "me"}], "line 1: expected"),
        ([QUESTION | {"passages": [{"text": 3}]}], "line 1: expected a passage"),
        ([QUESTION, "broken"], "line 2"),
    ],
)
def test_a_data_set_is_checked_before_the_first_question(tmp_path: Path, lines: list[Any], message: str) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(SetupError, match=message):
        read_data(path)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(tmp_path: Path, limit: int) -> None:
    with pytest.raises(SetupError, match=f"A limit of {limit} questions does not fit"):
        read_data(tmp_path / "data.jsonl", limit)


def test_a_limit_stops_reading(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(QUESTION) + "\nbroken\n", encoding="utf-8")
    data = read_data(path, 1)
    assert (data.count, data.count_with_passages, [question["id"] for question in data.read_records()]) == (1, 0, ["1"])
