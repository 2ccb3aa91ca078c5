"""Every command of the pages for beginners runs in a shell as it stands there, and prints what the page says it prints.

A loopback server stands for Ollama, and a program that only notes what it is told for the command `ollama`.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from openai_server import OpenAIServer, Request

DOCS = Path(__file__).resolve().parents[2] / "docs"
OLLAMA = "http://localhost:11434/v1"
PORT = "8765"


def answer(request: Request) -> str:
    """The model of the tutorial: it finds the laptops, and knows nothing else."""
    return "the IT desk in Halden Street" if "laptop" in request.text.rpartition("Question:")[2] else "unknown"


class Shell:
    """Runs blocks of commands one after the other, in one folder. Variables that a block exports stay; `quorum serve`
    goes on in the background, at a free port, until the next one or the end.
    """

    def __init__(self, folder: Path, model: str, servers: ExitStack) -> None:
        programs = folder / ".programs"
        programs.mkdir()
        (programs / "ollama").write_text(f'#!/bin/sh\necho "$@" >> {folder}/.ollama\n', encoding="utf-8")
        (programs / "ollama").chmod(0o755)
        path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = os.environ | {"PATH": path, "COLUMNS": "100"}
        del self.environment["OPENAI_BASE_URL"]
        self.folder, self.model, self.servers, self.address = folder, model, servers, f"http://127.0.0.1:{PORT}"

    def run(self, block: str) -> str:
        """The output of a block's commands."""
        block = block.replace(OLLAMA, self.model).replace(f"http://127.0.0.1:{PORT}", self.address)
        for name, value in re.findall(r"^export (\w+)=(.*)$", block, re.MULTILINE):
            self.environment[name] = value
        served = re.search(r"^quorum serve.*$", block, re.MULTILINE)
        if served:
            block = block.replace(served[0], "")
            self.serve(served[0])
        command = ["bash", "-euo", "pipefail", "-c", block]
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def serve(self, line: str) -> None:
        """Start a server, and remember the address that it prints."""
        self.servers.close()
        command = [*shlex.split(line, comments=True), "--port", "0"]
        process = subprocess.Popen(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.servers.callback(process.wait)
        self.servers.callback(process.terminate)
        assert process.stdout is not None
        self.servers.callback(process.stdout.close)
        for output in process.stdout:
            if address := re.search(r"http://127\.0\.0\.1:\d+", output):
                self.address = address[0]
                return
        pytest.fail(f"{line} ended without an address")


@pytest.fixture
def shell(tmp_path: Path, openai_server: OpenAIServer) -> Iterator[Shell]:
    openai_server.reply(answer)
    with ExitStack() as servers:
        yield Shell(tmp_path, openai_server.url, servers)


def read_blocks(page: str) -> list[tuple[str, str]]:
    """(commands, what the page shows as their output, or "") for each block of commands, in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(r"```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.DOTALL)


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
    assert installing.startswith("uv tool install quorum-rag")  # tests/wheel installs the package
    for commands in blocks:
        output = shell.run(commands)
        if "serve" in commands:
            assert "Quorum" in shell.run(f"curl -s http://127.0.0.1:{PORT}/")
    assert "1 passage" in output
