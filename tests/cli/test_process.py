"""The `quorum` command as a process of its own: what it imports, and how it handles Ctrl-C, pipes and encodings."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from openai_bodies import Response
from openai_server import OpenAIServer
from started_process import stop_ignoring_ctrl_c

ROOT = Path(__file__).resolve().parents[2]
QUORUM_COMMAND = [sys.executable, "-m", "quorum.cli.main"]


@pytest.fixture
def environment(openai_server: OpenAIServer) -> dict[str, str]:
    """The environment of the started command. The fixture openai_server has put the server's address into it."""
    return dict(os.environ) | {"PYTHONPATH": str(ROOT)}


@pytest.fixture
def passages_path(tmp_path: Path) -> str:
    path = tmp_path / "passages.jsonl"
    path.write_text('{"id": "a", "title": "Zürich", "text": "Zürich lies on the Limmat."}\n', encoding="utf-8")
    return str(path)


def test_python_m_quorum_runs_the_quorum_command(environment: dict[str, str]) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "quorum", "methods", "no_such_method"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("quorum: ")


@pytest.mark.parametrize(("option", "expected"), [("--help", "eval"), ("--version", "quorum 0.")])
def test_help_and_version_import_nothing_heavy(option: str, expected: str, environment: dict[str, str]) -> None:
    script = (
        "import sys\n"
        "from quorum.cli.main import main\n"
        "try:\n    main([sys.argv[1]])\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'rich', 'langgraph', 'langchain_core', 'chromadb', 'onnxruntime', 'numpy', 'pydantic', 'asyncio'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, option]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert (run.stderr.strip(), expected in run.stdout) == ("[]", True)


def test_ctrl_c_ends_a_question_cleanly(
    environment: dict[str, str], passages_path: str, openai_server: OpenAIServer
) -> None:
    openai_server.reply(Response("Limmat", hold=True))
    command = [*QUORUM_COMMAND, "ask", "Which river?", "--passages", passages_path, "--model", "openai:test"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, preexec_fn=stop_ignoring_ctrl_c, **pipes) as process:
        try:
            openai_server.wait_for_requests(1)
            process.send_signal(signal.SIGINT)
            assert (process.communicate(), process.returncode) == (("", ""), 130)
        finally:
            process.kill()


@pytest.mark.parametrize(
    "args",
    [
        ["methods", "--json"],
        pytest.param(["methods"], marks=pytest.mark.long),  # drawn as a table by rich
        pytest.param(["methods", "concat", "--diagram"], marks=pytest.mark.long),
    ],
)
def test_a_closed_pipe_is_no_error(environment: dict[str, str], args: list[str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as pipe:
        run = subprocess.run(
            [*QUORUM_COMMAND, *args], env=environment, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False
        )
    assert run.stderr == ""


def test_output_suits_the_encoding_of_the_pipe(
    environment: dict[str, str], passages_path: str, openai_server: OpenAIServer
) -> None:
    openai_server.reply("Zürich")
    run = subprocess.run(
        [
            *QUORUM_COMMAND,
            "ask",
            "Which town lies on the Limmat? \udcff",
            "--passages",
            passages_path,
            "--model",
            "openai:test",
        ],
        env=environment | {"PYTHONIOENCODING": "ascii"},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert run.stdout.splitlines()[0] == b"Z?rich"  # ASCII has no ü
    assert "\ufffd" in openai_server.chats()[0].text  # in place of the question's invalid character
