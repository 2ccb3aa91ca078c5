"""Starts processes of `quorum` without delay, as forks of one process that has imported everything.

To the disk and to SIGKILL a fork is a normal process. It saves the seconds of importing, which would otherwise dominate
a benchmark that kills forty processes. One fork runs at a time. Run as a program, this module is the forking process:
it reads JSON lines {"arguments", "folder", "errors"} and prints each fork's process id and, at its end, its exit code.
"""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT


class ForkedRun:
    """One run. `returncode` is None until the run has ended; if a signal ended it, minus that signal. Its
    standard error goes to a file, its standard output nowhere.
    """

    def __init__(self, forks: "ForkServer", errors: Path) -> None:
        self.forks, self.errors = forks, errors
        self.pid = int(forks.read_line())
        self.returncode: int | None = None

    def poll(self, seconds: float = 0.0) -> int | None:
        """The exit code if the run ends within `seconds`, otherwise None."""
        if self.returncode is None and select.select([self.forks.process.stdout], [], [], seconds)[0]:
            self.returncode = int(self.forks.read_line())
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def finish(self, seconds: float = 3600.0) -> str:
        """Wait for the end of the run. Returns what it wrote to standard error."""
        if self.poll(seconds) is None:
            raise RuntimeError(f"Process {self.pid} has not ended after {seconds:.0f} seconds.")
        return self.errors.read_text("utf-8", "replace")


class ForkServer:
    """The forking process. Every fork has the environment that this process had at its start."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "benchmarks.forks"]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # a process with threads cannot be forked safely
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=-1, stdout=-1, bufsize=0)

    def start(self, *arguments: str, folder: Path) -> ForkedRun:
        """Run a command line in a folder."""
        errors = folder / "errors.txt"
        request = {"arguments": arguments, "folder": str(folder), "errors": str(errors)}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        return ForkedRun(self, errors)

    def read_line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def run(request: dict[str, Any]) -> None:
    """Run the command line in this process, then exit."""
    from quorum.cli.main import main

    os.chdir(request["folder"])
    errors = os.open(request["errors"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream, file in enumerate((nowhere, nowhere, errors)):
        os.dup2(file, stream)
    code: object = 0
    try:
        main(request["arguments"])
    except SystemExit as end:
        code = end.code
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)  # libraries would wait for threads that a fork does not have


def serve() -> None:
    import chromadb  # noqa: F401  what a run would import
    import langchain_openai  # noqa: F401

    import quorum.retrievers.index  # noqa: F401

    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("An import has started threads; a process with threads cannot be forked safely.")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            run(json.loads(line))
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
