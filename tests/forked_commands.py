"""Runs `quorum` command lines, one after the other, each in a fork of this process, which has imported everything: a
process like any other, that starts at once. Lines of stdin are lists of arguments; for each its process id is printed
when it starts and its exit code when it has ended. What it says itself is thrown away.
"""

import json
import os
import signal
import sys

import langchain_openai  # noqa: F401

import quorum.evaluation.compare.compare
import quorum.evaluation.report.write
import quorum.graphs.concat
import quorum.graphs.post_fusion
import quorum.models.embedded.chat
import quorum.retrievers  # noqa: F401
from quorum.cli.main import main


def forked(arguments: list[str]) -> int:
    """The id of a process that runs the command line, and that Ctrl-C ends even where a shell told us to ignore it."""
    child = os.fork()
    if child:
        return child
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    code: object = 0
    try:
        main(arguments)
    except SystemExit as end:
        code = end.code
    os._exit(code if isinstance(code, int) else 1)  # libraries would wait for threads that a fork has not


if __name__ == "__main__":
    for line in sys.stdin:
        child = forked(json.loads(line))
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
