"""Every command of the pages for beginners runs in a shell as it stands there, and prints what the page says it prints.

A loopback server stands for Ollama, and a program that only notes what it is told for the command `ollama`.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from openai_server import OpenAIServer, Request
from page_shell import PORT, Shell, read_blocks


def answer(request: Request) -> str:
    """The model of the tutorial: it finds the laptops, and knows nothing else."""
    return "the IT desk in Halden Street" if "laptop" in request.text.rpartition("Question:")[2] else "unknown"


@pytest.fixture
def shell(tmp_path: Path, openai_server: OpenAIServer) -> Iterator[Shell]:
    openai_server.reply(answer)
    with ExitStack() as servers:
        yield Shell(tmp_path, openai_server.url, servers)


@pytest.mark.long
def test_the_tutorial(shell: Shell, tmp_path: Path, openai_server: OpenAIServer) -> None:
    outputs = []
    for commands, shown in read_blocks("tutorial.md"):
        outputs.append(shell.run(commands))
        lines = [line.strip() for line in outputs[-1].splitlines()]
        assert [line for line in shown.splitlines() if line.strip() not in lines] == []
    assert {request.body["model"] for request in openai_server.requests if request.body} == {"qwen3"}
    assert (tmp_path / ".ollama").read_text(encoding="utf-8") == "pull qwen3\n"
    assert list(tmp_path.glob("results/*/report.html"))
    assert "Halden Street" in outputs[-1]  # what curl got from the server


@pytest.mark.long
def test_the_page_for_those_who_only_want_answers(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "it.md").write_text("New laptops are ordered in Halden Street.\n", encoding="utf-8")
    installing, *blocks = [commands for commands, _ in read_blocks("start.md")]
    assert installing.startswith("uv tool install .")  # tests/wheel installs the package
    for commands in blocks:
        output = shell.run(commands)
        if "serve" in commands:
            assert "Quorum" in shell.run(f"curl -s http://127.0.0.1:{PORT}/")
    assert "1 passage" in output
