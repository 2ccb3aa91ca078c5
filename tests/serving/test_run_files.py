"""The files of runs: what a killed process leaves is closed, and their number and size are bounded."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from quorum.serving.errors import Refusal
from quorum.serving.runs.export import format_markdown, read_answers
from quorum.serving.runs.run_folder import RunFolder, SavedRun

REQUEST = {"question": "Who?", "methods": ["concat", "sure"], "settings": {}}
STARTED = {"n": 1, "time": 1.0, "type": "run_started", "question": "Who?", "methods": ["concat", "sure"]}
RESULT = {"answer": "Ada", "unknown": False}
ANSWERED = {"n": 2, "time": 2.0, "type": "method_finished", "method": "concat", "result": RESULT, "seconds": 1.0}


def leave_run(folder: Path, *events: dict[str, Any]) -> SavedRun:
    """The run of a process that ended while it was in progress."""
    dead = RunFolder(folder)
    run = dead.create("client", REQUEST, time.time())
    for event in events:
        run.file.append(event)
    assert dead.processes.own_lock is not None
    dead.processes.own_lock.release()
    return run


@pytest.mark.parametrize("torn", [b"", b'{"n": 3, "ty', b'{"n": 3}', b'{"n": 3, "text": "' + b"x" * 9000])
def test_an_interrupted_run_is_closed_once_and_its_torn_line_is_removed(torn: bytes, tmp_path: Path) -> None:
    run = leave_run(tmp_path, STARTED, ANSWERED)
    with run.file.path.open("ab") as file:
        file.write(torn)
    for _ in range(2):
        found = RunFolder(tmp_path).find(run.id, "client")
        *before, error, last = list(found.file.read_events())
        assert before == [STARTED, ANSWERED]
        assert (error["n"], error["code"], error["method"], error["remedy"]) == (3, "interrupted", "sure", "retry")
        assert error["sentence"] == "The server ended before this method had answered; ask it again."
        assert (last["n"], last["type"]) == (4, "run_finished")
        assert last["groups"] == [
            {"answer": "Ada", "unknown": False, "methods": ["concat"], "methods_text": "1 of 2 methods"}
        ]
    assert not list(tmp_path.glob("server-*.lock")) or os.name == "nt"


def test_a_run_without_any_event_is_closed(tmp_path: Path) -> None:
    run = leave_run(tmp_path)
    events = list(RunFolder(tmp_path).find(run.id, "client").file.read_events())
    assert [(event["n"], event["type"], event.get("method")) for event in events] == [
        (1, "error", "concat"),
        (2, "error", "sure"),
        (3, "run_finished", None),
    ]


@pytest.mark.long
def test_the_run_of_a_living_process_is_left_alone(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from quorum.serving.runs.run_folder import RunFolder; "
        f"folder = RunFolder(Path(sys.argv[1])); run = folder.create('client', {REQUEST!r}, 1.0); "
        f"run.file.append({STARTED!r}); print(run.id, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        id_ = process.stdout.readline().strip()
        folder = RunFolder(tmp_path)
        assert list(folder.find(id_, "client").file.read_events()) == [STARTED]
        process.kill()
        process.wait()
        assert [event["type"] for event in folder.find(id_, "client").file.read_events()][-1] == "run_finished"


def test_only_its_client_finds_a_run(tmp_path: Path) -> None:
    run = leave_run(tmp_path, STARTED)
    folder = RunFolder(tmp_path)
    for id_, client in ((run.id, "other"), ("../" + run.id, "client"), ("nothing", "client")):
        with pytest.raises(Refusal):
            folder.find(id_, client)
    (tmp_path / f"{run.id}.jsonl").write_text("no json\n")
    with pytest.raises(Refusal):
        RunFolder(tmp_path).find(run.id, "client")


def test_the_oldest_runs_of_a_client_are_removed(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, most_runs=2)
    runs = [folder.create("client", REQUEST, float(second)) for second in range(4)]
    folder.create("other", REQUEST, 0.5)
    folder.write_title(runs[0].id, "First")
    folder.running_ids = {runs[1].id}
    folder.remove_oldest("client")
    assert [run.id for run in folder.list_runs("client")] == [runs[3].id, runs[2].id, runs[1].id]
    assert len(list(folder.list_runs("other"))) == 1
    assert not list(tmp_path.glob("*.title"))
    RunFolder(tmp_path, most_bytes=1).remove_oldest("client")
    assert list(folder.list_runs("client")) == []


def test_runs_are_private_and_a_file_holds_one_line_for_each_event(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "new" / "runs").create("client", REQUEST, time.time())
    run.file.append({"n": 1, "type": "answer_text", "text": "a\nb\u2028c\x85d\re"})
    lines = run.file.path.read_bytes().splitlines()
    assert len(run.file.path.read_text(encoding="utf-8").splitlines()) == len(lines) == 2
    assert json.loads(lines[1])["text"] == "a\nb\u2028c\x85d\re"
    if os.name != "nt":
        assert (run.file.path.stat().st_mode & 0o777, run.file.path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_markdown_tells_what_has_not_ended_and_what_failed() -> None:
    events = [
        STARTED,
        {"type": "answer_text", "method": "concat", "text": "It was A", "replaces": False},
        {"type": "error", "method": "sure", "code": "stopped", "sentence": "Stopped [x](y).", "remedy": "retry"},
    ]
    answers = list(read_answers(events).values())
    head = {"request": {**REQUEST, "settings": {"k": 3}}}
    text = format_markdown("Who?", [(head, answers)])
    assert text.split("\n\n") == [
        *("# Who?", "k: 3", "## concat", "It was A", "*The answer is not complete.*"),
        *("## sure", "*Stopped \\[x\\](y).*\n"),
    ]
