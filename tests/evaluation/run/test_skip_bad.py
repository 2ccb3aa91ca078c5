"""--skip-bad of eval, experiment and compare: broken records are skipped and counted.

Without --skip-bad, the first broken record ends the run.
"""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quorum.cli.main import main
from quorum.core.errors import SetupError
from quorum.evaluation.run.dataset import read_data
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.source import find_passage_source, pool_passages

PASSAGE = {"id": "p", "title": "Rhine", "text": "The Rhine flows through Basel."}


def make_line(id_: str, **fields: Any) -> str:
    record = {"id": id_, "question": "Which town lies on the Rhine?", "answers": ["Basel"], "passages": [PASSAGE]}
    return json.dumps(record | fields)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three valid questions among six broken lines: no JSON, no question, an invalid passage, an empty question, a
    repeated id, an unknown task.
    """
    path = tmp_path / "rivers.jsonl"
    lines = [make_line("a"), "{broken", '{"answers": ["x"]}', make_line("b", passages=[{"id": "p"}])]
    lines += [make_line("c", question=" "), make_line("a"), make_line("d", meta={"answer_type": "song"})]
    lines += [make_line("e"), make_line("f")]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_good_records_are_read_and_bad_ones_counted(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "quorum"):
        dataset = read_data(data, skip_bad=True)
        same_dataset = read_data(data, skip_bad=True)
    assert (dataset.count, dataset.skipped, dataset.count_with_passages) == (3, 6, 3)
    assert dataset == same_dataset
    assert [record["id"] for record in dataset.read_records()] == ["a", "e", "f"]
    assert [record["id"] for record in read_data(data, 2, skip_bad=True).read_records()] == ["a", "e"]
    messages = [record.getMessage() for record in caplog.records]
    assert messages[0] == (
        f"skipped {data}, line 2: not JSON (Expecting property name enclosed in double quotes); expected one object "
        "per line."
    )
    assert "line 3" in messages[1]
    assert "question 'c' is empty" in messages[3]
    assert "id 'a' is there twice" in messages[4]
    assert messages[5] == f"{data}: 6 broken records skipped; the messages above name the first 5."


def test_without_skip_bad_the_first_bad_record_stops_the_run(data: Path) -> None:
    with pytest.raises(SetupError, match="line 2: not JSON"):
        read_data(data)


def test_a_file_of_broken_records_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("{broken\n", encoding="utf-8")
    with pytest.raises(
        SetupError, match=r"holds no questions that can be asked: 1 that cannot be read \(the first: .*line 1: not JSON"
    ):
        read_data(path, skip_bad=True)


def test_a_pool_leaves_out_bad_records(data: Path) -> None:
    source = find_passage_source(read_data(data, skip_bad=True), Options(data=data, corpus="pool"))
    assert source.skip_bad
    assert pool_passages(data, problems=[]) == [PASSAGE]  # without `problems`, a bad record raises


@pytest.fixture
def quorum(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Runs a command of quorum; returns its exit code and what it wrote on stderr."""

    def run_command(*args: str) -> tuple[int, str]:
        try:
            main([str(arg) for arg in args])
            code: Any = 0
        except SystemExit as exit_:
            code = exit_.code or 0
        return code, capsys.readouterr().err

    return run_command


@pytest.mark.parametrize(
    "command",
    [
        ("eval", "{data}", "--methods", "concat", "--out", "o"),
        ("experiment", "sweep_passages", "{data}", "--methods", "base", "--out", "o"),
        ("compare", "given", "{data}", "--methods", "concat", "--out", "o"),
    ],
)
def test_every_measuring_command_skips_bad_records(
    quorum: Callable[..., tuple[int, str]], data: Path, command: tuple[str, ...]
) -> None:
    args = [part.format(data=data) for part in command]
    code, err = quorum(*args)
    assert (code, "line 2: not JSON" in err, err.count("\n")) == (2, True, 1)
    code, err = quorum(*args, "--skip-bad")
    assert code == 0
    rows = [json.loads(line) for line in Path("o/results.jsonl").read_text().splitlines()]
    assert sorted(row["id"] for row in rows) == ["a", "e", "f"]
    assert json.loads(Path("o/config.json").read_text())["data"]["skipped"] == 6
    code, err = quorum(*args, "--skip-bad")
    assert (code, "made 0 calls now" in err) == (0, True)
