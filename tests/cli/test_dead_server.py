"""A server that does not answer is told after the first failed try, by every command, and Ctrl-C stops at once."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest
from openai_server import OpenAIServer
from started_process import stop_ignoring_ctrl_c

ROOT = Path(__file__).resolve().parents[2]
PASSAGE = {"id": "a", "title": "Vell", "text": "Ada Korn designed the tower of Vell."}
MODEL = ["-m", "openai:test"]


@pytest.fixture
def files(tmp_path: Path, openai_server: OpenAIServer) -> Path:
    """A folder with questions, passages and documents; nothing listens any more where OPENAI_BASE_URL points."""
    openai_server.close()
    questions = [
        {"id": str(number), "question": f"Who designed tower {number}?", "answers": ["Ada Korn"], "passages": [PASSAGE]}
        for number in range(6)
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))
    wrong = [question | {"answers": ["nobody"]} for question in questions]  # a judge is asked where em is 0
    (tmp_path / "wrong.jsonl").write_text("".join(json.dumps(question) + "\n" for question in wrong))
    (tmp_path / "passages.jsonl").write_text("".join(json.dumps(PASSAGE | {"id": id_}) + "\n" for id_ in "ab"))
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "vell.md").write_text("# Vell\n\n" + "Ada Korn designed the tower of Vell in 1874. " * 5)
    return tmp_path


@contextmanager
def start(files: Path, *args: str, stdin: str = "") -> Iterator["subprocess.Popen[str]"]:
    """A running `quorum` command."""
    with subprocess.Popen(
        [sys.executable, "-m", "quorum", *args],
        cwd=files,
        env=dict(os.environ) | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=stop_ignoring_ctrl_c,
    ) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(stdin)
            process.stdin.close()
            process.stdin = None
            yield process
        finally:
            process.kill()


def read_until_told(process: "subprocess.Popen[str]") -> list[str]:
    """The lines of stderr up to the one that tells the first failed try."""
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if "does not answer" in line:
            return lines
    raise AssertionError(f"nothing was told: {lines}")


def check_told_and_stopped(process: "subprocess.Popen[str]", server: OpenAIServer, code: int = 130) -> None:
    told = read_until_told(process)[-1]
    assert f" at {server.url} does not answer (connection refused: no program listens on this port)" in told
    assert told.endswith("; try 2 of 8 in 3 s; Ctrl-C stops\n")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    assert "Traceback" not in err, err
    assert "does not answer" not in err, err


ASK = ["ask", "Who?", "--passages", "passages.jsonl", *MODEL]
EVAL = ["eval", "questions.jsonl", "--methods", "concat,post_fusion", *MODEL]


def test_the_first_failed_try_is_told_and_ctrl_c_stops(files: Path, openai_server: OpenAIServer) -> None:
    with start(files, *EVAL) as process:
        check_told_and_stopped(process, openai_server)


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [
        ASK,
        [*ASK, "--json"],
        [*ASK, "--stream"],
        [*ASK, "--method", "sure"],
        ["compare", "pool", "questions.jsonl", "--methods", "concat,post_fusion", "-m", "openai:test"],
        ["compare", "pool", "questions.jsonl", "--methods", "concat,cot", "-m", "openai:test", "--race", "exact"],
        ["experiment", "sure-table-4", "questions.jsonl", *MODEL],
        ["questions", "documents", "--n", "2", "--out", "written.jsonl", *MODEL],
        ["eval", "wrong.jsonl", "--methods", "concat", "--judge", "openai:test"],
        ["index", "documents", "-c", "vell", "--embeddings", "openai:embedder"],
        ["eval", "questions.jsonl", "--methods", "concat", "--corpus", "documents", "--embeddings", "openai:embedder"],
        [
            "ask",
            "Who?",
            "--passages",
            "passages.jsonl",
            "--set",
            "reranker=question",
            "--embeddings",
            "openai:embedder",
        ],
    ],
    ids=lambda command: " ".join(command[:4]),
)
def test_every_command_tells_the_first_failed_try(files: Path, openai_server: OpenAIServer, command: list[str]) -> None:
    with start(files, *command) as process:
        check_told_and_stopped(process, openai_server)


@pytest.mark.long
def test_a_chat_tells_it_and_goes_on_after_ctrl_c(files: Path, openai_server: OpenAIServer) -> None:
    with start(files, "index", "documents", "-c", "vell") as process:
        assert process.wait() == 0
    with start(files, "chat", *MODEL, stdin="Who designed it?\n") as process:
        told = read_until_told(process)[-1]
        assert told.endswith("try 2 of 8 in 3 s; Ctrl-C stops\n")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, "stopped\n")  # the question failed; the input then ended


@pytest.mark.long
@pytest.mark.parametrize("concurrency", ["1", "4"])
def test_an_evaluation_tells_it_once_for_all_questions_and_ends_with_one_sentence(
    files: Path, openai_server: OpenAIServer, concurrency: str
) -> None:
    with start(files, *EVAL, "--concurrency", concurrency, "--set", "attempts=2") as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    told = [line for line in err.splitlines() if "does not answer" in line]
    assert [line.partition("port)")[2] for line in told] == [
        "; try 2 of 2 in 3 s; Ctrl-C stops",
        ", after 2 tries in 3 seconds; start the server or correct its address, then run the command again.",
    ]


@pytest.mark.long
def test_the_log_of_the_server_tells_it(files: Path, openai_server: OpenAIServer) -> None:
    with start(files, "serve", "--port", "0", "--no-page", *MODEL) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        address = next(word for line in process.stdout for word in line.split() if word.startswith("http://"))
        body = json.dumps({"model": "concat", "messages": [{"role": "user", "content": "Who?"}]}).encode()
        request = urllib.request.Request(
            f"{address.rstrip('/').removesuffix('/v1')}/v1/chat/completions", body, {"Content-Type": "application/json"}
        )
        asker = Thread(target=ask_and_ignore_failure, args=(request,))
        asker.start()
        assert read_until_told(process)[-1].endswith("try 2 of 8 in 3 s; Ctrl-C stops\n")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        asker.join()
        assert process.returncode == 0  # Ctrl-C is how a server is stopped


def ask_and_ignore_failure(request: urllib.request.Request) -> None:
    with suppress(urllib.error.URLError, ConnectionError):
        urllib.request.urlopen(request, timeout=60).close()
