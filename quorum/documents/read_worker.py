"""The process that reads documents for `quorum.documents.guarded_reading`: one file at a time, with a time limit.

It reads pickled requests from standard input and writes pickled replies to the pipe that was its standard output at
the start. The process exits at the end of its input; the operating system kills it if a file takes too long.
"""

import errno
import os
import pickle
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from quorum.core.state import Passage
from quorum.documents.document import Unreadable
from quorum.documents.pieces import read_file_passages

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


class Request(NamedTuple):
    """A file to read into passages of at most `words` words, within `seconds` of processor time and `memory` bytes.
    outline: whether the passages have a context.
    """

    path: str
    words: int
    seconds: float
    memory: int
    outline: bool = False


class Reply(NamedTuple):
    """The passages of a file, or why there are none.

    notes: (path, note for the user); reason: why the file cannot be read, "" if it was read or if `bug` is set; bug: an
    unexpected exception of the code that reads the file; is_out_of_memory: the process ends after this reply.
    """

    passages: list[Passage]
    notes: list[tuple[str, str]]
    reason: str = ""
    bug: Exception | None = None
    is_out_of_memory: bool = False


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
        set_memory_limit(request.memory)
        reply = make_reply(request)
        set_time_limit(0)
        write_reply(reply, replies)
        if reply.is_out_of_memory:
            return  # the next file gets a new process, with its memory unbroken


def set_time_limit(seconds: float) -> None:
    """Let the system end this process after some seconds of processor time; 0: no limit. Does nothing on Windows."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def set_memory_limit(size: int) -> None:
    """Let this process have at most `size` bytes of memory: beyond, an allocation fails. Does nothing on Windows."""
    if resource is not None:
        _, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
        limit = size if hard_limit == resource.RLIM_INFINITY else min(size, hard_limit)
        with suppress(OSError, ValueError):  # macOS refuses a limit below what the process has
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard_limit))


def make_reply(request: Request) -> Reply:
    """Read the file of a request, and return the reply: passages, or what went wrong. Never raises an `Exception`."""
    notes: list[tuple[str, str]] = []
    try:
        passages = read_file_passages(Path(request.path), request.words, notes, outline=request.outline)
        return Reply(list(passages), notes)
    except Unreadable as reason:
        return Reply([], notes, str(reason))
    except Exception as error:  # noqa: BLE001  (the process that sent the request raises it again)
        if is_out_of_memory(error):
            explanation = f"needs more than {request.memory / 1e9:.1f} GB of memory to read"
            return Reply([], [], explanation, is_out_of_memory=True)
        return Reply([], notes, bug=error)


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory was lacking, also for a library that is loaded when it is needed."""
    is_library_unmapped = isinstance(error, ImportError) and "failed to map" in str(error)
    return isinstance(error, MemoryError) or is_library_unmapped or getattr(error, "errno", None) == errno.ENOMEM


def write_reply(reply: Reply, replies: BinaryIO) -> None:
    try:
        data = pickle.dumps(reply)
    except Exception:  # noqa: BLE001  (some exceptions cannot be pickled)
        data = pickle.dumps(Reply([], reply.notes, bug=RuntimeError(repr(reply.bug))))
    replies.write(data)
    replies.flush()
