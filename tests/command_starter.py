"""Starts `quorum` command lines in processes that need not import anything."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

TESTS_FOLDER = Path(__file__).resolve().parent


class Commands:
    """Runs `quorum` command lines one after the other, each in a process that forked_commands.py starts."""

    def __init__(self, errors: IO[str]) -> None:
        self.errors = errors
        environment = dict(os.environ) | {"PYTHONPATH": str(TESTS_FOLDER.parent)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        command = [sys.executable, str(TESTS_FOLDER / "forked_commands.py")]
        self.starter = subprocess.Popen(command, env=environment, text=True, bufsize=1, stderr=errors, **pipes)

    def start(self, arguments: list[str]) -> int:
        """Start a command and return its process id."""
        assert self.starter.stdin is not None
        self.starter.stdin.write(json.dumps(arguments) + "\n")
        return self.read_number()

    def run(self, arguments: list[str]) -> None:
        """Run a command, which must succeed."""
        self.start(arguments)
        assert self.read_number() == 0, self.read_errors()

    def read_number(self) -> int:
        """Read the next number that forked_commands.py prints: for each command its process id, then its exit code."""
        assert self.starter.stdout is not None
        return int(self.starter.stdout.readline())

    def read_errors(self) -> str:
        """What the commands have written to stderr so far."""
        self.errors.seek(0)
        return self.errors.read()


@contextmanager
def start_commands() -> Iterator[Commands]:
    """Commands in the present environment, until the `with` block ends."""
    with tempfile.TemporaryFile("w+") as errors:
        commands = Commands(errors)
        with commands.starter:
            yield commands
