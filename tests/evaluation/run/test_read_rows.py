"""Reading a results.jsonl or details.jsonl, some of whose lines no evaluation wrote.

A bad line is refused by an error of one sentence. The error names the line's number in results.jsonl, or the method and
the question of a line of details.jsonl. A line of details.jsonl from which no method and id can be read is skipped.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from quorum.core.errors import SetupError
from quorum.evaluation.decisions.answer_table import read_calls_and_certificates
from quorum.evaluation.decisions.recorded_results import read_results
from quorum.evaluation.run.details import LineIndex
from quorum.evaluation.run.read_rows import read_rows

ROW = {"id": "1", "method": "concat", "question": "When?", "answer": "1931", "gold": ["1931"], "em": 1.0, "error": None}
# Each key says what is wrong: the field with a wrong value ("id"), the wrong value ("huge"), or the form of the line
# ("no json").
BAD_LINES: dict[str, bytes] = {
    "nested": b'{"id": "1", "method": "concat", "em": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "digits": b'{"id": "1", "method": "concat", "em": ' + b"9" * 5000 + b"}",
    "huge": b'{"id": "1", "method": "concat", "em": 1e300}',
    "infinite": b'{"id": "1", "method": "concat", "em": 1e999}',
    "not a number": b'{"id": "1", "method": "concat", "em": NaN}',
    "text": b'{"id": "1", "method": "concat", "em": "high"}',
    "object": b'{"id": "1", "method": "concat", "answer": {"a": 1}}',
    "list": b'{"id": "1", "method": "concat", "gold": [1, 2]}',
    "id": b'{"id": 1, "method": "concat"}',
    "method": b'{"id": "1", "method": ["concat"]}',
    "no id": b'{"method": "concat"}',
    "no object": b"[1, 2]",
    "no json": b"{",
    "latin": '{"id": "K\u00f6ln", "method": "concat"}'.encode("cp1252"),
}


def write_results(folder: Path, *lines: bytes) -> Path:
    (folder / "config.json").write_text(json.dumps({"methods": {"concat": {"method": "concat"}}}))
    (folder / "results.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    return folder


def make_line(**fields: Any) -> bytes:
    return json.dumps(ROW | fields).encode()


@pytest.mark.parametrize("bad_line", BAD_LINES.values(), ids=BAD_LINES)
def test_the_error_names_a_bad_line_of_the_results(bad_line: bytes, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"results\.jsonl, line 2 is not .*; remove the line\.$"):
        read_results(write_results(tmp_path, make_line(id="0"), bad_line))


def test_an_unreadable_configuration_is_refused_without_naming_out(tmp_path: Path) -> None:
    """Of the commands that read results in this way, some give --out another meaning, and one has no --out."""
    folder = write_results(tmp_path, make_line())
    (folder / "config.json").write_text("{")
    with pytest.raises(SetupError, match=r"config\.json cannot be read \(.*\); run the evaluation again\.$"):
        read_results(folder)


def test_lines_of_an_evaluation_are_read_and_an_incomplete_last_line_is_skipped(tmp_path: Path) -> None:
    folder = write_results(tmp_path, make_line(), make_line(id="2", em=False, seconds=0.5, candidates=None))
    with (folder / "results.jsonl").open("ab") as file:
        file.write(b'{"id": "3", "meth')
    assert [(number, row["id"]) for number, row in read_rows(folder / "results.jsonl")] == [(1, "1"), (2, "2")]
    assert read_results(folder).ids == ("1", "2")


def test_a_device_is_refused_as_a_results_file(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").symlink_to("/dev/zero")
    with pytest.raises(SetupError, match=r"results\.jsonl cannot be read \(a device, "):
        list(read_rows(tmp_path / "results.jsonl"))


@pytest.mark.parametrize(
    "fields",
    [
        {"calls": 3},
        {"calls": [1]},
        {"calls": [{"name": "answer", "input_tokens": "9", "output_tokens": 1, "reply": "x"}]},
        {"calls": [{"name": [], "input_tokens": 9, "output_tokens": 1, "reply": "x"}]},
        {},
    ],
)
def test_details_with_calls_of_another_form_are_refused_in_one_sentence(fields: dict[str, Any], tmp_path: Path) -> None:
    folder = write_results(tmp_path, make_line())
    (folder / "details.jsonl").write_text(json.dumps({"method": "concat", "id": "1", **fields}) + "\n")
    message = r"details\.jsonl has an invalid line, for the method 'concat' and the question '1'; remove the line\.$"
    with pytest.raises(SetupError, match=message):
        read_calls_and_certificates(read_results(folder), ["concat"])


def test_lines_of_details_without_a_readable_method_and_id_are_skipped(tmp_path: Path) -> None:
    deeply_nested_line = b'{"method": "concat", "id": "1", "calls": ' + b"[" * 100_000
    line_with_wrong_types = b'{"method": {}, "id": 1}'
    (tmp_path / "details.jsonl").write_bytes(
        b"\n".join([deeply_nested_line, line_with_wrong_types, b"\xff", b"{}"]) + b"\n"
    )
    with LineIndex(tmp_path / "details.jsonl") as index:
        assert index.offset_of_key == {}
