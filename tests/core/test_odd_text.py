"""Text that cannot be encoded as UTF-8, and JSON that the standard library cannot read, cause no traceback."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai_bodies import Response
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.json_text import parse_json
from quorum.datasets.questions import read_questions
from quorum.datasets.records import parse_passage, read_passages
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.graphs import answer
from quorum.parsing.answers import parse_reasoned_answer
from quorum.parsing.candidates import parse_candidates

LONE_SURROGATE = "\\ud83d"  # an escape that JSON can write: half of a character
GOOD_LINE = '{"id": "1", "question": "Who?", "answers": ["me"]}'
LONG_NUMBER = "1" * 5000
DEEP_LISTS = "[" * 100_000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f'"a{LONE_SURROGATE}b"', "a\ufffdb"),
        (f'{{"{LONE_SURROGATE}": ["{LONE_SURROGATE}", 1, null]}}', {"\ufffd": ["\ufffd", 1, None]}),
        ('{"a\ud83d": "\ud83db"}', {"a\ufffd": "\ufffdb"}),
        ('"\\ud83d\\ude00"', "😀"),
        (f'"\\\\{LONE_SURROGATE}"', "\\\ufffd"),
        ('"\\\\ud83d"', "\\ud83d"),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
    ],
)
def test_half_characters_are_replaced(text: str | bytes, value: Any) -> None:
    assert parse_json(text) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [(DEEP_LISTS, "nested too deeply"), (LONG_NUMBER, "a number is too long"), ("{", "Expecting property name")],
)
def test_every_fault_in_json_is_a_json_decode_error(text: str, message: str) -> None:
    with pytest.raises(json.JSONDecodeError, match=message):
        parse_json(text)


@pytest.mark.parametrize("name", ["data.jsonl", "data.json", "data.csv"])
@pytest.mark.parametrize("bad_json", [DEEP_LISTS, LONG_NUMBER], ids=["deep", "long"])
def test_unreadable_data_is_a_setup_error(tmp_path: Path, name: str, bad_json: str) -> None:
    path = tmp_path / name
    lines = {
        "data.jsonl": [GOOD_LINE, f'{{"id": {bad_json}}}'],
        "data.json": [f"[{bad_json}]"],
        "data.csv": ["question,answers", f"Who?,[{bad_json}]"],
    }
    path.write_text("\n".join(lines[name]), encoding="utf-8")
    with pytest.raises(SetupError, match=r"data\.\w+"):
        list(read_questions(path))


@pytest.mark.parametrize("bad_json", [DEEP_LISTS, LONG_NUMBER], ids=["deep", "long"])
def test_an_unreadable_first_record_is_named_or_skipped(tmp_path: Path, bad_json: str) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text(f'{{"id": {bad_json}}}\n{GOOD_LINE}\n', encoding="utf-8")
    with pytest.raises(SetupError, match="line 1: not JSON"):
        list(read_questions(path))
    problems: list[str] = []
    assert [record["id"] for record in read_questions(path, problems=problems)] == ["1"]
    assert len(problems) == 1


def test_passages_hold_whole_characters(tmp_path: Path) -> None:
    path = tmp_path / "passages.jsonl"
    path.write_text(
        f'{{"id": "a{LONE_SURROGATE}", "title": "{LONE_SURROGATE}", "text": "so{LONE_SURROGATE}"}}\n', encoding="utf-8"
    )
    expected = [{"id": "a\ufffd", "title": "\ufffd", "text": "so\ufffd"}]
    assert read_passages(path) == expected
    assert parse_passage({"id": "a\ud83d", "title": "\ud83d", "text": "so\ud83d"}, "here") == expected[0]


async def test_a_question_with_half_a_character_is_refused() -> None:
    with pytest.raises(SetupError, match=r"lone surrogate: 'Who \\ud83d\?'"):
        await answer(
            "Who \ud83d?", "concat", Context(model="embedded"), given=[parse_passage({"id": "a", "text": "b"}, "")]
        )


def test_an_answer_read_from_json_holds_whole_characters() -> None:
    assert (
        parse_reasoned_answer(f'{{"rationale": "r", "answer": "Par{LONE_SURROGATE}is"}}').value.answer == "Par\ufffdis"
    )
    assert parse_candidates(f'["Par{LONE_SURROGATE}is", "Rome"]', 2).value == ["Par\ufffdis", "Rome"]


async def test_replies_and_data_with_half_characters_are_stored(tmp_path: Path, openai_server: OpenAIServer) -> None:
    """The first evaluation stores the reply in the journal; the second, in another folder, reads it from there. The
    third finds all answers in the results of the first.
    """
    openai_server.reply(Response("Par\ud83dis", usage=None))
    record = {"id": "1\ud83d", "question": "Who \ud83d?", "answers": ["\ud83dx"]}
    passages = [{"id": "a\ud83d", "title": "\ud83d", "text": "Par\ud83dis"}]
    (tmp_path / "data.jsonl").write_text(json.dumps(record | {"passages": passages}) + "\n", encoding="utf-8")
    columns = parse_columns("concat", Context(model="openai:test", journal="journal.sqlite"))
    for folder in ("one", "two"):
        report = await evaluate(
            Options(data=tmp_path / "data.jsonl", out=tmp_path / folder, writes_details=True), columns
        )
        (row,) = (json.loads(line) for line in (report.folder / "results.jsonl").read_text("utf-8").splitlines())
        assert (row["id"], row["answer"], row["error"]) == ("1\ufffd", "Par\ufffdis", None)
    assert len(openai_server.chats()) == 1
    assert (
        await evaluate(Options(data=tmp_path / "data.jsonl", out=tmp_path / "one", writes_details=True), columns)
    ).new_answers == 0
