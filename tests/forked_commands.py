"""Runs `quorum` command lines one after the other, each in a fork of this process, which has imported everything.

A fork starts at once, because it need not import anything; otherwise it is a process like any other. Each line of stdin
is a JSON list, the arguments of one command. When a command starts, the script prints its process id, and when it has
ended, its exit code. What the commands write to stderr goes to this script's stderr; their other output is discarded.
`command_starter.py` starts this script.
"""

import json
import os
import signal
import sys

import langchain_openai  # noqa: F401

import quorum.evaluation.comparison
import quorum.evaluation.report.write
import quorum.graphs.concat
import quorum.graphs.post_fusion
import quorum.models.embedded.chat
import quorum.retrievers  # noqa: F401
from quorum.cli.main import main


def fork_command(arguments: list[str]) -> int:
    """Run the command line in a new process and return its id. Ctrl-C ends it even if this process ignores Ctrl-C."""
    child = os.fork()
    if child:
        return child
    signal.signal(signal.SIGINT, signal.default_int_handler)
    null_device = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(null_device, stream)
    code: object = 0
    try:
        main(arguments)
    except SystemExit as end:
        code = end.code
    os._exit(code if isinstance(code, int) else 1)  # a normal exit would wait for threads that do not exist in a fork


if __name__ == "__main__":
    for line in sys.stdin:
        child = fork_command(json.loads(line))
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
