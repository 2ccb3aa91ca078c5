"""Broken data files: one sentence names the file, the place in it and what was expected there. Bad records can be
skipped. The command `quorum data convert` writes the good records to a new file.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quorum.cli.main import main
from quorum.core.errors import SetupError
from quorum.datasets.formats import FORMATS
from quorum.datasets.formats.convert import UnusableRecord
from quorum.datasets.questions import read_questions, write_questions
from quorum.datasets.records import Record

GOOD_RECORD = {"question": "Who?", "answer": ["Ann"]}


def write_data(tmp_path: Path, content: str, file_name: str = "data.json") -> Path:
    (tmp_path / file_name).write_text(content, encoding="utf-8")
    return tmp_path / file_name


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"question": "Who?", "answer": ["Ann"]}\n{"question": "Who?"\n', "line 2: not JSON"),
        ('{"question": "Who?", "answer": ["Ann"]}\n{"question": 3, "answer": ["Ann"]}\n', "line 2: expected {.*answer"),
        ('{"question": "Who?", "answer": []}\n', "line 1: .* no answer: the test part"),
        ('{"id": 1, "claim": "So.", "label": "TRUE"}\n', "line 1: expected FEVER's .* .the label is none of"),
        ('{"input": "Who?", "output": [{"provenance": []}]}', "line 1: expected KILT's"),
        ('{"question": "Who?", "answers": ["A"], "ctxs": [{"id": 1, "text": 3}]}', "line 1: expected DPR's"),
        ('{"who": "Ann"}\n', r"line 1: expected {\"id\", .* or a record of .*HotpotQA and 2Wiki.*; found {\"who\""),
        ('[\n {"_id": "h", "question": "Who?", "context": [["A"]]}\n]', "record 1: expected HotpotQA's"),
        ('[{"qid": 1, "question": "Who?", "answer": true}, 7]', "record 2: expected StrategyQA's .*; found 7"),
        ('[\n{"a": 1},\n{"b" 2}\n]', "line 3: not JSON .* expected one JSON document, or one object per line"),
        ('{\n "data": [\n', "not JSON"),
        ('{"data": [{"title": "T", "paragraphs": [{"context": "C"}]}]}', "record 1: expected"),
        ('{"data": [{"title": "T", "paragraphs": [{"context": "C", "qas": [{"id": 1}]}]}]}', "record 1: expected"),
        ("question,answers\nWho?,Ann,Bo\n", "row 1: expected"),
        ("question,answers\nWho?\n", "row 1: the answer is empty"),
        ("question,answers\nWho?,Ann\nWho else?, \n", r"row 2: the answer is empty; .* or \[\] if \"unknown\" is"),
        ("question,answers\nWho?, | \n", "row 1: the answer is empty"),
        ('question,answers\nWho?,"[""""]"\n', "row 1: the answer is empty"),
        ('{"question": "Who?", "answers": ["", " "]}\n', "line 1: the answer is empty"),
        ('{"question": "Who?", "answer": ""}\n', "line 1: the answer is empty"),
        ('question,answers\nWho?,"[1, 2]"\n', "row 1: expected"),
        ('question,answers\nWho?,"Ann\n', r"cannot be read \(.*expected CSV"),
        ('question,answers\nWho?,Ann\nWho?,"Ann\n', "cannot be read after row 1"),
        ("who,what\nAnn,tea\n", "line 1: not JSON"),  # without a column "question", a file is not read as CSV
        pytest.param("[" * 100_000, "nested too deeply", id="nested"),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence(tmp_path: Path, content: str, message: str) -> None:
    path = write_data(tmp_path, content)
    with pytest.raises(SetupError, match=message) as caught:
        list(read_questions(path))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("question,ground_truth\nWho?,Ann\n", "question, ground_truth"),
        ("Frage;Antwort\nWer?;Ann\n", "frage, antwort"),
        ("sep=|\nquestion|reference\nWho?|Ann\n", "question, reference"),
        ("question\nWho?\n", "question"),
    ],
)
def test_a_table_with_other_columns_is_refused_with_its_columns_and_the_expected_ones(
    tmp_path: Path, content: str, columns: str
) -> None:
    path = write_data(tmp_path, content, "data.csv")
    with pytest.raises(SetupError) as caught:
        list(read_questions(path))
    assert str(caught.value) == (
        f"{path}, line 1: expected a header with the columns question and answers (or answer), or JSON lines; found "
        f"the columns {columns}; rename them in the file."
    )


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0\0", b"question,answers\nWho?,\0\1\xff\n"])
def test_a_table_that_is_not_text_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "data.csv").write_bytes(content)
    with pytest.raises(SetupError, match=r"data.csv cannot be read \(.* not a text file\); expected CSV"):
        list(read_questions(tmp_path / "data.csv"))


def test_bad_records_are_counted_and_reading_continues(tmp_path: Path) -> None:
    rows = [json.dumps(GOOD_RECORD), "{", '{"question": 1, "answer": "x"}', "[]", json.dumps(GOOD_RECORD)]
    problems: list[str] = []
    questions = list(read_questions(write_data(tmp_path, "\n".join(rows)), problems=problems))
    assert [record["id"] for record in questions] == ["1", "5"]
    assert [f"line {number}" in problem for number, problem in zip((2, 3, 4), problems, strict=True)] == [True] * 3


def test_a_first_record_of_no_known_format_does_not_decide_the_format(tmp_path: Path) -> None:
    records = [{"qid": "a", "question": "Is it?"}, {"qid": "b", "question": "Is it?", "answer": True}]
    problems: list[str] = []
    (record,) = read_questions(write_data(tmp_path, json.dumps(records)), problems=problems)
    assert (record["id"], record["meta"], len(problems)) == ("b", {"answer_type": "yes_no"}, 1)


# Keys of records in all published formats.
KEYS = ["question", "answer", "answers", "ctxs", "context", "claim", "label", "evidence", "input", "output", "qa_pairs"]
KEYS += ["annotations", "golden_answers", "utterance", "targetValue", "Question", "QuestionId", "Answer", "docs", "id"]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYS, "text", "title"]), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(KEYS), ANY_JSON, max_size=6))
@example({"context": {"title": None}, "question": None})
def test_any_record_is_converted_or_refused(published_record: dict[str, Any]) -> None:
    for data_format in FORMATS:
        if data_format.fits(published_record):
            try:
                record = data_format.convert(published_record, "line 1")
            # In Quorum, `convert_record` calls `convert` and turns each of these errors into a SetupError.
            except (UnusableRecord, SetupError, KeyError, TypeError, ValueError, IndexError, AttributeError):
                continue
            assert isinstance(record["question"], str)
            assert all(isinstance(answer, str) for answer in record["answers"])
            json.dumps(record)


def run_command(*args: str) -> int:
    with pytest.raises(SystemExit) as command_exit:
        main(list(args))
    return int(command_exit.value.code or 0)


@pytest.mark.parametrize("file_name", ["out.jsonl", "out.jsonl.gz"])
def test_converted_files_can_be_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str], file_name: str) -> None:
    path, out = write_data(tmp_path, f"{json.dumps(GOOD_RECORD)}\n"), tmp_path / file_name
    assert run_command("data", "convert", str(path), "--out", str(out)) == 0
    assert capsys.readouterr().out.endswith("1 question, 0 skipped.\n")
    assert list(read_questions(out)) == list(read_questions(path))
    assert (out.read_bytes()[:2] == b"\x1f\x8b") == file_name.endswith("gz")  # the first bytes of gzip


def test_convert_stops_at_a_broken_record_or_skips_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = write_data(tmp_path, f"{json.dumps(GOOD_RECORD)}\n" + "{\n" * 7), tmp_path / "out.jsonl"
    assert run_command("data", "convert", str(path), "--out", str(out)) == 2
    assert "line 2: not JSON" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["data.json"]
    assert run_command("data", "convert", str(path), "--out", str(out), "--skip-bad") == 0
    output = capsys.readouterr()
    assert output.out.endswith("1 question, 7 skipped.\n")
    assert "skipped 2 more" in output.err  # after the reasons for the first five


def test_convert_does_not_overwrite_its_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_data(tmp_path, f"{json.dumps(GOOD_RECORD)}\n")
    assert run_command("data", "convert", str(path), "--out", str(path)) == 2
    assert "is the file to convert" in capsys.readouterr().err
    assert json.loads(path.read_text(encoding="utf-8")) == GOOD_RECORD


def test_convert_selects_one_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = {"qa_pairs": [], "ambiguous_question": "When?", "annotations": [{"long_answer": "Then."}]}
    path = write_data(tmp_path, json.dumps({"train": {"1": record}, "dev": {"2": record, "3": record}}))
    assert run_command("data", "convert", str(path), "--out", str(tmp_path / "dev.jsonl"), "--split", "dev") == 0
    assert [record["id"] for record in read_questions(tmp_path / "dev.jsonl")] == ["2", "3"]
    capsys.readouterr()
    assert run_command("data", "convert", str(path), "--out", str(tmp_path / "none.jsonl"), "--split", "test") == 2
    assert "has no part 'test'; it has train, dev." in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "none.jsonl").exists()


def test_the_split_option_is_refused_for_a_file_without_splits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_data(tmp_path, json.dumps(GOOD_RECORD))
    assert run_command("data", "convert", str(path), "--out", str(tmp_path / "none.jsonl"), "--split", "dev") == 2
    assert "leave out --split" in " ".join(capsys.readouterr().err.split())


OWN_RECORD = {"id": "1", "question": "Who?", "answers": ["Ann"]}


@pytest.mark.parametrize(
    ("records", "split", "exit_code", "message"),
    [
        ([OWN_RECORD | {"meta": {"split": 5}}], "5", 0, "1 question,"),
        ([OWN_RECORD | {"meta": {"split": 5}}], "dev", 2, "has no part 'dev'; it has 5."),
        ([OWN_RECORD | {"meta": {"split": ["dev"]}}], "dev", 2, "leave out --split"),
        ([OWN_RECORD | {"meta": {"split": "dev"}, "keep": False}], "dev", 1, "left out 1 question"),
        ([OWN_RECORD, OWN_RECORD | {"meta": {"split": "dev"}, "question": 5}], "dev", 1, "skipped"),
        ([], "dev", 1, "0 questions"),
    ],
)
def test_a_split_without_questions_is_explained_by_what_the_file_holds(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    records: list[dict[str, Any]],
    split: str,
    exit_code: int,
    message: str,
) -> None:
    path = write_data(tmp_path, "".join(f"{json.dumps(record)}\n" for record in records), "data.jsonl")
    arguments = ["data", "convert", str(path), "--out", str(tmp_path / "out.jsonl"), "--split", split, "--skip-bad"]
    assert run_command(*arguments) == exit_code
    output = capsys.readouterr()
    assert message in " ".join((output.out + output.err).split())


def test_an_unwritable_path_is_a_setup_error(tmp_path: Path) -> None:
    record = Record(id="1", question="Who?", answers=[], passages=[], gold=[])
    assert write_questions(tmp_path / "o.jsonl.gz", [record]) == 1
    for folder in ("missing", "o.jsonl.gz"):  # the second is a file, not a folder
        with pytest.raises(SetupError, match="cannot be written"):
            write_questions(tmp_path / folder / "out.jsonl", [record])
    assert json.loads(gzip.decompress((tmp_path / "o.jsonl.gz").read_bytes())) == record
