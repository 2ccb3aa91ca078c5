"""The process that reads documents for `quorum.documents.guarded_reading`: one file at a time, with a time limit.

Requests come from standard input, replies go to the original standard output, both pickled. The process
exits at the end of its input; the operating system kills it if a file takes too long.
"""

import os
import pickle
import signal
import sys
from pathlib import Path
from typing import BinaryIO, NamedTuple

from quorum.core.state import Passage
from quorum.documents.document import Unreadable
from quorum.documents.pieces import read_file_passages


class Request(NamedTuple):
    """A file to read into passages of at most `words` words, within `seconds` of processor time."""

    path: str
    words: int
    seconds: float


class Reply(NamedTuple):
    """The passages of a file and the notes for the user, or the reason why it cannot be read, or a bug."""

    passages: list[Passage]
    notes: list[tuple[str, str]]
    reason: str = ""
    bug: Exception | None = None


def main() -> None:
    """Answer requests until the input ends."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a parser prints must not mix with the replies
    answer_requests(sys.stdin.buffer, replies)


def answer_requests(requests: BinaryIO, replies: BinaryIO) -> None:
    """Reply to each request in turn."""
    while True:
        try:
            request: Request = pickle.load(requests)
        except EOFError:
            return
        set_time_limit(request.seconds)
        reply = read_passages(request)
        set_time_limit(0)
        write_reply(reply, replies)


def set_time_limit(seconds: float) -> None:
    """Let the system end this process after some seconds of processor time; 0 removes the limit. Not on Windows."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def read_passages(request: Request) -> Reply:
    """The reply to a request."""
    notes: list[tuple[str, str]] = []
    try:
        return Reply(list(read_file_passages(Path(request.path), request.words, notes)), notes)
    except Unreadable as reason:
        return Reply([], notes, str(reason))
    except MemoryError:
        return Reply([], notes, "needs more memory than there is")
    except Exception as error:  # noqa: BLE001  (raised again in the process that asked)
        return Reply([], notes, bug=error)


def write_reply(reply: Reply, replies: BinaryIO) -> None:
    try:
        data = pickle.dumps(reply)
    except Exception:  # noqa: BLE001  (some exceptions cannot be pickled)
        data = pickle.dumps(Reply([], reply.notes, bug=RuntimeError(repr(reply.bug))))
    replies.write(data)
    replies.flush()
