"""Runs the commands of a page of docs/ in a shell, as they stand there."""

import os
import re
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
OLLAMA = "http://localhost:11434/v1"
PORT = "8765"


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
        self.environment.pop("OPENAI_BASE_URL", None)
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


def read_blocks(page: str) -> list[tuple[str, str]]:
    """(commands, what the page shows as their output, or "") for each block of commands, in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(r"```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.DOTALL)
