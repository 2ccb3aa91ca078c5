"""Data files: which records are read, and the sentence of the error for a file or record that cannot be read."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from quorum.core.errors import SetupError
from quorum.datasets.questions import read_questions
from quorum.datasets.records import parse_passage, read_passages

PASSAGE_VALUE = {"id": 7, "title": None, "text": "It is 38 metres high."}
QUESTION: dict[str, Any] = {
    "id": "q1",
    "question": "How high?",
    "answers": ["38 metres"],
    "passages": [PASSAGE_VALUE],
    "gold": [7],
}


@pytest.mark.parametrize("name", ["data.jsonl", "data.jsonl.gz"])
@pytest.mark.parametrize("byte_order_mark", ["", "\ufeff"])
def test_plain_and_compressed_files_give_the_same_records(tmp_path: Path, name: str, byte_order_mark: str) -> None:
    path, content = tmp_path / name, f"{byte_order_mark}{json.dumps(QUESTION)}\n\n".encode()
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    (record,) = read_questions(path)
    assert record["passages"] == [{"id": "7", "title": "", "text": "It is 38 metres high."}]
    assert (record["gold"], record["source"], record["meta"]) == (["7"], name, {})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": None}, r"line 1: expected .*question"),
        ({"answers": "38 metres"}, r"line 1: expected .*answers"),
        ({"answers": [38]}, r"line 1: expected .*answers"),
        ({"gold": "p17"}, r"line 1: expected a list under 'gold', found \"p17\""),
        ({"gold": 7}, "expected a list under 'gold', found 7"),
        ({"passages": 5}, "expected a list under 'passages', found 5"),
        ({"passages": {"id": 1}}, "expected a list under 'passages'"),
        ({"passages": [{"id": 1}]}, "line 1: expected a passage"),
    ],
)
def test_a_question_of_the_wrong_shape_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(QUESTION | change), encoding="utf-8")
    with pytest.raises(SetupError, match=message):
        list(read_questions(path))


PACKED_PASSAGES = gzip.compress(json.dumps(PASSAGE_VALUE).encode() * 50, mtime=0)
CUT_OFF_GZIP = PACKED_PASSAGES[:-12]
DAMAGED_GZIP = PACKED_PASSAGES[:10] + b"\xff" * 4 + PACKED_PASSAGES[14:]  # the compressed data begin at byte 10


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.jsonl", b'{"id": 1,\n', "line 1: not JSON"),
        ("p.jsonl", b"[1]\n", "line 1: expected a JSON object, found list"),
        ("p.jsonl", b'{"id": 1, "text": "caf\xe9"}\n', r"cannot be read \("),
        ("p.jsonl.gz", b"no gzip", r"cannot be read \("),
        ("p.jsonl.gz", CUT_OFF_GZIP, r"cannot be read \("),
        ("p.jsonl.gz", DAMAGED_GZIP, r"cannot be read \("),
        ("p.jsonl", b'{"id": 1, "text": ""}\n' * 20_000 + b"\xe9", r"cannot be read after line \d{2,} \("),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SetupError, match=message) as caught:
        read_passages(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"There is no file .*none\.jsonl;"):
        read_passages(tmp_path / "none.jsonl")
    with pytest.raises(SetupError, match=f"{re.escape(str(tmp_path))} is a folder"):
        read_passages(tmp_path)


@pytest.mark.parametrize("value", [object(), {"id": 1, "text": b"x"}, {("a",): 1}, "a passage", None])
def test_an_object_that_is_not_a_passage_is_a_setup_error(value: Any) -> None:
    with pytest.raises(SetupError, match="Given passage 1: expected a passage"):
        parse_passage(value, "Given passage 1")


def test_questions_that_a_reviewer_rejected_are_left_out(tmp_path: Path) -> None:
    records = [
        {"id": "a", "question": "A?", "answers": [], "keep": True, "meta": {"kind": "single"}},
        {"id": "b", "question": "B?", "answers": [], "keep": False},
        {"id": "c", "question": "C?", "answers": [], "meta": {"keep": False}},
        {"id": "d", "question": "D?", "answers": []},
    ]
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in records))
    left_out: list[str] = []
    meta_of_id = {record["id"]: record.get("meta") for record in read_questions(path, left_out=left_out)}
    assert (meta_of_id, left_out) == ({"a": {"kind": "single", "keep": True}, "d": {}}, ["b", "c"])
    table = tmp_path / "q.csv"
    table.write_text("id,question,answers,keep\na,A?,x,true\nb,B?,x,No\nc,C?,x,\n")
    assert [record["id"] for record in read_questions(table)] == ["a", "c"]
    path.write_text('{"id": "a", "question": "A?", "answers": [], "keep": "perhaps"}\n')
    with pytest.raises(SetupError, match="keep is neither true nor false: 'perhaps'"):
        list(read_questions(path))
