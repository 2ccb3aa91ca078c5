"""`quorum ask --save-trace FILE` saves a run in a file, and `quorum trace FILE` prints it again."""

import json
import stat
from pathlib import Path

import pytest
from full_files import limit_file_sizes
from method_fixtures import PASSAGES, QUESTION
from openai_bodies import Response, make_error
from openai_server import OpenAIServer

from quorum.cli.main import main

ASK_COMMAND = ("ask", QUESTION, "--passages", "passages.jsonl", "--model", "openai:test", "--k", "2")


@pytest.fixture(autouse=True)
def write_passages_and_script_replies(isolate: None, openai_server: OpenAIServer) -> None:
    """Write passages.jsonl. The server answers "1931" to a prompt with one passage, "unknown" to any other prompt."""
    Path("passages.jsonl").write_text("".join(json.dumps(passage) + "\n" for passage in PASSAGES), encoding="utf-8")
    openai_server.reply(lambda request: "1931" if "[1]" in request.text and "[2]" not in request.text else "unknown")


def run_quorum(*args: str) -> int:
    """Run the command `quorum` with these arguments and return its exit code."""
    try:
        main([*args])
    except SystemExit as exit_:
        return int(exit_.code or 0)
    return 0


def test_a_saved_run_is_printed_like_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_quorum(*ASK_COMMAND, "--method", "concat_pf", "--trace", "--save-trace", "run.json") == 0
    output = capsys.readouterr().out
    assert run_quorum("trace", "run.json") == 0
    printed_trace = capsys.readouterr().out
    assert printed_trace.count("answer: passage") == 2
    assert output.startswith(printed_trace)
    saved_run = json.loads(Path("run.json").read_text(encoding="utf-8"))
    assert (saved_run["question"], saved_run["method"]) == (QUESTION, "concat_pf")
    assert [step["name"] for step in saved_run["steps"][0]["steps"]][:3] == ["begin", "retrieve", "concat_answer"]


def test_a_failed_run_is_saved(openai_server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    openai_server.reply(make_error(400, "no such parameter"))
    assert run_quorum(*ASK_COMMAND, "--method", "concat", "--save-trace", "run.json") == 1
    capsys.readouterr()
    assert run_quorum("trace", "run.json") == 0
    assert "no such parameter" in capsys.readouterr().out


def test_hidden_passages_are_not_saved(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("QUORUM_HIDE_PASSAGES", "1")
    assert run_quorum(*ASK_COMMAND, "--method", "post_fusion", "--save-trace", "run.json") == 0
    saved_text = Path("run.json").read_text(encoding="utf-8")
    assert not [passage["id"] for passage in PASSAGES if passage["text"] in saved_text]
    assert "answer: 1931" in saved_text
    capsys.readouterr()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "quorum trace 9", "steps": []}', '{"format": 1}'])
def test_a_file_without_a_trace_is_refused_in_one_sentence(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("run.json").write_text(text, encoding="utf-8")
    assert run_quorum("trace", "run.json") == 2
    output = capsys.readouterr().err
    assert output.startswith("quorum: run.json holds no trace")
    assert output.endswith("; give a file that --save-trace wrote.\n")
    assert output.count("\n") == 1


def test_an_unwritable_file_is_refused_before_any_call(
    openai_server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_quorum(*ASK_COMMAND, "--save-trace", "nowhere/run.json") == 2
    assert "nowhere/run.json" in capsys.readouterr().err
    assert not openai_server.chats()
    assert run_quorum("trace", "nowhere/run.json") == 2
    assert "cannot be read" in capsys.readouterr().err


FULL_DISK = Path("/dev/full")  # a device on which every write fails, as on a full disk


@pytest.mark.skipif(not FULL_DISK.exists(), reason="this system has no device that is always full")
def test_a_full_disk_loses_the_trace_but_not_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_quorum(*ASK_COMMAND, "--method", "concat", "--save-trace", str(FULL_DISK)) == 1
    out, err = capsys.readouterr()
    assert "unknown" in out
    assert "quorum: The trace was not written to /dev/full (No space left on device)." in err
    assert FULL_DISK.is_char_device()  # the trace did not replace the device by a regular file


def test_an_interrupted_save_keeps_the_older_trace(capsys: pytest.CaptureFixture[str]) -> None:
    """A limit of 100 bytes on the size of files stands for a disk that fills up while the trace is written."""
    Path("run.json").write_text("older", encoding="utf-8")
    with limit_file_sizes(100):
        assert run_quorum(*ASK_COMMAND, "--method", "concat", "--save-trace", "run.json", "--json") == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["answer"] == "unknown"
    assert "The trace was not written to run.json (File too large)" in err
    assert Path("run.json").read_text(encoding="utf-8") == "older"
    assert not list(Path().glob("*.part"))


def test_a_new_trace_is_private_and_an_existing_file_keeps_its_mode(capsys: pytest.CaptureFixture[str]) -> None:
    Path("existing.json").touch()
    Path("existing.json").chmod(0o644)
    modes = []
    for name in ("new.json", "existing.json"):
        assert run_quorum(*ASK_COMMAND, "--method", "concat", "--save-trace", name) == 0
        modes.append(stat.S_IMODE(Path(name).stat().st_mode))
    assert modes == [0o600, 0o644]
    assert run_quorum("trace", "existing.json") == 0
    assert "answer" in capsys.readouterr().out


def test_reasoning_is_shown_in_a_trace_and_is_no_answer(
    openai_server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    openai_server.reply(Response("1931", message={"reasoning_content": "The tower was opened in May."}))
    assert run_quorum(*ASK_COMMAND, "--method", "concat", "--save-trace", "run.json", "--json") == 0
    assert json.loads(capsys.readouterr().out)["answer"] == "1931"
    assert run_quorum("trace", "run.json") == 0
    assert "(reasoning) The tower was opened in May." in capsys.readouterr().out


def test_a_trace_hides_a_key_that_a_server_echoed(
    openai_server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    openai_server.reply(make_error(400, "you sent Authorization: Bearer 0123secret"))
    assert run_quorum(*ASK_COMMAND, "--method", "concat", "--save-trace", "run.json") == 1
    assert "0123secret" not in Path("run.json").read_text(encoding="utf-8") + capsys.readouterr().err
