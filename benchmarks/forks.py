"""Starts processes of `quorum` without delay, as forks of one process that has imported everything.

A fork writes to the disk and dies of SIGKILL like any other process. It saves the seconds of importing, which would
otherwise dominate a benchmark that kills forty processes. One fork runs at a time. Run as a program, this module is the
forking process: it reads JSON lines {"arguments", "folder", "error_file"} and prints the process id of each fork and,
when the fork ends, its exit code.
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
    """A fork that runs one command. Its standard error goes to `error_file`; its standard output is discarded.

    returncode: None until `poll` sees that the run has ended, then its exit code; if a signal ended the run, the
    signal's number times -1.
    """

    def __init__(self, fork_server: "ForkServer", error_file: Path) -> None:
        self.fork_server, self.error_file = fork_server, error_file
        self.pid = int(fork_server.read_line())
        self.returncode: int | None = None

    def poll(self, seconds: float = 0.0) -> int | None:
        """The exit code if the run ends within `seconds`, otherwise None."""
        if self.returncode is None and select.select([self.fork_server.process.stdout], [], [], seconds)[0]:
            self.returncode = int(self.fork_server.read_line())
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def finish(self, seconds: float = 3600.0) -> str:
        """Wait for the end of the run. Returns what it wrote to standard error."""
        if self.poll(seconds) is None:
            raise RuntimeError(f"Process {self.pid} has not ended after {seconds:.0f} seconds.")
        return self.error_file.read_text("utf-8", "replace")


class ForkServer:
    """The forking process. Every fork has the environment that this process had at its start."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "benchmarks.forks"]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # a process with threads cannot be forked safely
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, bufsize=0)

    def start(self, *arguments: str, folder: Path) -> ForkedRun:
        """Start a fork that runs `quorum` with these arguments in a folder."""
        error_file = folder / "errors.txt"
        request = {"arguments": arguments, "folder": str(folder), "error_file": str(error_file)}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        return ForkedRun(self, error_file)

    def read_line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def run(request: dict[str, Any]) -> None:
    """Run the requested command in this process, which is a fork, then exit."""
    from quorum.cli.main import main

    os.chdir(request["folder"])
    error_file = os.open(request["error_file"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    null_device = os.open(os.devnull, os.O_RDWR)
    for standard_stream, file in enumerate((null_device, null_device, error_file)):  # input, output, error
        os.dup2(file, standard_stream)
    code: object = 0
    try:
        main(request["arguments"])
    except SystemExit as end:
        code = end.code
    sys.stderr.flush()
    # Not sys.exit: at a normal exit libraries would wait for threads that a fork does not have.
    os._exit(code if isinstance(code, int) else 1)


def serve() -> None:
    """Import what the runs need, then make a fork for each request on standard input, one after the other."""
    import chromadb  # noqa: F401
    import langchain_openai  # noqa: F401

    import quorum.retrievers.index  # noqa: F401

    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("An import has started threads; a process with threads cannot be forked safely.")
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:  # this process is the fork
            run(json.loads(line))
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
