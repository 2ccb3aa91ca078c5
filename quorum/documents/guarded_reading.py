"""Reads documents in another process, so that a file that hangs or crashes its parser is skipped like any bad file."""

import atexit
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from time import sleep

from quorum.core.state import Passage
from quorum.documents.document import Unreadable
from quorum.documents.pieces import read_file_passages
from quorum.documents.read_worker import Reply, Request
from quorum.documents.readers import find_reader

TIME_LIMIT = 60.0  # seconds of processor time for one file
SECONDS_PER_MEGABYTE = 5.0  # added to the limit, because large files take long without being hostile
LONGEST_WAIT = 900.0  # the process is killed after this many seconds by the clock, plus ten times the file's limit
SIMPLE_READERS = (
    "plain_text",
    "source_code",
    "delimited_text",
    "json_file",
)  # built in, and take time proportional to the size
FilePassages = tuple[list[Passage], list[tuple[str, str]]]  # the passages of a file, and (path, note for the user)
WORKER_COMMAND = "from quorum.documents.read_worker import main; main()"


class GuardedReader:
    """Reads documents in a process of its own, which is started for the first file and again after a crash."""

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self.time_limit = time_limit
        self.process: subprocess.Popen[bytes] | None = None
        self.owner_pid = 0
        self.lock = threading.Lock()

    def read(self, path: Path, words: int) -> FilePassages:
        """(passages, notes for the user) of a document. words: the passage length.

        Raises `Unreadable`, also for a file that crashes its reader or takes more processor time than the limit plus
        5 s per megabyte.
        """
        with self.lock:
            seconds = self.time_limit + SECONDS_PER_MEGABYTE * measure_megabytes(path)
            process = self.get_process()
            try:
                assert process.stdin is not None
                pickle.dump(Request(str(path), words, seconds), process.stdin)
                process.stdin.flush()
                reply = receive_reply(process, LONGEST_WAIT + 10 * seconds)
            except TimeoutError:
                process.kill()
                raise Unreadable(self.explain_end(process, f"takes more than {LONGEST_WAIT:,.0f} s")) from None
            except (OSError, EOFError, pickle.UnpicklingError):
                raise Unreadable(self.explain_end(process, f"takes more than {seconds:,.0f} s")) from None
        if reply.bug is not None:
            raise reply.bug
        if reply.reason:
            raise Unreadable(reply.reason)
        return reply.passages, reply.notes

    def get_process(self) -> subprocess.Popen[bytes]:
        """The running worker process. Starts one if there is none, if the last one has ended, or if it belongs to
        another process, of which the current one is a fork.
        """
        if self.process is None or self.owner_pid != os.getpid() or self.process.poll() is not None:
            if self.process is not None:
                close_pipes(self.process)
            path = os.pathsep.join(part for part in sys.path if part)
            self.process = subprocess.Popen(
                [sys.executable, "-c", WORKER_COMMAND],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
                start_new_session=True,  # Ctrl-C must not reach the process; it exits when its standard input is closed
            )
            self.owner_pid = os.getpid()
        return self.process

    def explain_end(self, process: subprocess.Popen[bytes], overrun: str) -> str:
        """Why the process ended while it read a file; the next file gets a new process.

        overrun: the reason if the time limit ended it, such as "takes more than 60 s".
        """
        self.process = None
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
        process.kill()
        code = process.wait()
        close_pipes(process)
        # Windows has neither signal.
        kill_signal, timer_signal = (getattr(signal, name, None) for name in ("SIGKILL", "SIGPROF"))
        if kill_signal is not None and code == -kill_signal:
            return f"{overrun} to read, or too much memory"
        if timer_signal is not None and code == -timer_signal:
            return f"{overrun} to read"
        return f"its reader crashed ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})"

    def close(self) -> None:
        """End the process, also while it reads."""
        process, self.process = self.process, None
        if process is not None and self.owner_pid == os.getpid():
            process.kill()
            process.wait()
            close_pipes(process)


def receive_reply(process: subprocess.Popen[bytes], seconds: float) -> Reply:
    """The reply of the process. Raises EOFError if the process ends, TimeoutError after `seconds` seconds."""
    assert process.stdout is not None
    if os.name == "posix":
        waiting = select.poll()  # select() fails where more than 1,023 files are open
        waiting.register(process.stdout, select.POLLIN | select.POLLHUP)
        if not waiting.poll(int(seconds * 1000)):
            raise TimeoutError
    reply: Reply = pickle.load(process.stdout)
    return reply


def close_pipes(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def measure_megabytes(path: Path) -> float:
    try:
        return path.stat().st_size / 1e6
    except OSError:
        return 0.0


def is_guarded(path: Path) -> bool:
    """Whether a file is read in the other process: by a built-in reader that is not in SIMPLE_READERS.

    Readers that packages add run in this process, because only this process knows them.
    """
    found = find_reader(path.suffix.lower()) if path.suffix else None
    is_built_in = isinstance(found, str)  # a name; a package's reader is a function
    return is_built_in and found not in SIMPLE_READERS and bool(sys.executable) and not hasattr(sys, "frozen")


def read_ahead(
    files: Sequence[Path], words: int, reader: GuardedReader | None
) -> Generator[tuple[Path, "Future[FilePassages]"], None, None]:
    """(file, its future passages and notes). The next file is read while the caller works on this one.

    words: the passage length; reader: None reads every file in this process.
    """

    def read(path: Path) -> FilePassages:
        if reader is not None and is_guarded(path):
            return reader.read(path, words)
        notes: list[tuple[str, str]] = []
        return list(read_file_passages(path, words, notes)), notes

    pool = ThreadPoolExecutor(1, thread_name_prefix="quorum-read")
    waiting: list[tuple[Path, Future[FilePassages]]] = []
    try:
        for path in files:
            waiting.append((path, pool.submit(read, path)))
            if len(waiting) > 1:
                yield waiting[0]
                waiting.pop(0)
        yield from waiting
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        while reader is not None and any(not future.done() for _, future in waiting):
            reader.close()  # close it again if the thread has started another process
            sleep(0.02)
        pool.shutdown()


def get_shared_reader(time_limit: float = TIME_LIMIT) -> GuardedReader:
    """The one reader of this process, for all that read documents in it. Sets its time limit.

    The worker process of the reader stays for the next files and ends with this process.
    """
    SHARED_READER.time_limit = time_limit
    return SHARED_READER


SHARED_READER = GuardedReader()
atexit.register(SHARED_READER.close)
