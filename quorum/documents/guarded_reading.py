"""Reads documents in a worker process. A file that hangs or crashes its parser is then skipped like other bad files."""

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

from quorum.core.forks import PerProcess
from quorum.core.state import Passage
from quorum.documents.document import Unreadable
from quorum.documents.pieces import read_file_passages
from quorum.documents.read_worker import Reply, Request
from quorum.documents.readers import find_reader

TIME_LIMIT = 60.0  # seconds of processor time for one file, without SECONDS_PER_MEGABYTE
SECONDS_PER_MEGABYTE = 5.0  # added to the limit, because large files take long without being hostile
# Bytes of memory for one file, without MEMORY_PER_BYTE: a small file that needs gigabytes is hostile or damaged.
MEMORY_LIMIT = 2_000_000_000
MEMORY_PER_BYTE = 20  # bytes of memory added to the limit for each byte of the file
# The worker is also killed if a file takes longer by the clock than BASE_WAIT seconds plus ten times the file's limit.
BASE_WAIT = 900.0
SIMPLE_READERS = (
    "plain_text",
    "source_code",
    "delimited_text",
    "json_file",
)  # built in, and take time proportional to the size
FilePassages = tuple[list[Passage], list[tuple[str, str]]]  # the passages of a file, and (path, note for the user)
WORKER_COMMAND = "from quorum.documents.read_worker import main; main()"


class GuardedReader:
    """Reads documents in a worker process, which it starts for the first file, and again after a crash."""

    def __init__(self, time_limit: float = TIME_LIMIT, memory_limit: int = MEMORY_LIMIT) -> None:
        self.time_limit, self.memory_limit = time_limit, memory_limit
        self.process: subprocess.Popen[bytes] | None = None
        self.owner_pid = 0
        self.lock = threading.Lock()

    def read(self, path: Path, words: int, *, outline: bool = False) -> FilePassages:
        """(passages, notes for the user) of a document. words, outline: as in `read_file_passages`.

        Raises `Unreadable`, also for a file that crashes its reader or takes more processor time than the limit plus
        5 s per megabyte. On Windows there is no time limit.
        """
        with self.lock:
            seconds = self.time_limit + SECONDS_PER_MEGABYTE * measure_megabytes(path)
            longest_wait = BASE_WAIT + 10 * seconds
            process = self.get_process()
            try:
                assert process.stdin is not None
                memory = self.memory_limit + MEMORY_PER_BYTE * int(1e6 * measure_megabytes(path))
                pickle.dump(Request(str(path), words, seconds, memory, outline), process.stdin)
                process.stdin.flush()
                reply = receive_reply(process, longest_wait)
            except TimeoutError:
                process.kill()
                raise Unreadable(self.explain_end(process, f"takes more than {longest_wait:,.0f} s")) from None
            except (OSError, EOFError, pickle.UnpicklingError):
                raise Unreadable(self.explain_end(process, f"takes more than {seconds:,.0f} s")) from None
        if reply.is_out_of_memory:
            self.explain_end(process, "")  # the process ends; the next file gets another one
        if reply.bug is not None:
            raise reply.bug
        if reply.reason:
            raise Unreadable(reply.reason)
        return reply.passages, reply.notes

    def get_process(self) -> subprocess.Popen[bytes]:
        """The running worker process. Starts one if there is none, or if it has ended.

        Also starts one if this process is a fork, because the worker then belongs to the parent process.
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
        """Why the worker process ended while it read a file. Kills it if it still runs; the next file gets a new one.

        overrun: the first words of the explanation if the time limit ended it, such as "takes more than 60 s".
        """
        self.process = None
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
        process.kill()
        code = process.wait()
        close_pipes(process)
        # Windows has neither of these signals.
        kill_signal, timer_signal = (getattr(signal, name, None) for name in ("SIGKILL", "SIGPROF"))
        if kill_signal is not None and code == -kill_signal:
            return f"{overrun} to read, or too much memory"
        if timer_signal is not None and code == -timer_signal:
            return f"{overrun} to read"
        return f"its reader crashed ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})"

    def close(self) -> None:
        """End the worker process, even if it is reading a file."""
        process, self.process = self.process, None
        if process is not None and self.owner_pid == os.getpid():
            process.kill()
            process.wait()
            close_pipes(process)


def receive_reply(process: subprocess.Popen[bytes], seconds: float) -> Reply:
    """The reply of the worker process. Raises EOFError if the process ends first.

    Raises TimeoutError after `seconds` seconds, but on Windows it waits without a limit.
    """
    assert process.stdout is not None
    if os.name == "posix":
        poller = select.poll()  # select() fails where more than 1,023 files are open
        poller.register(process.stdout, select.POLLIN | select.POLLHUP)
        if not poller.poll(int(seconds * 1000)):
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
    """Whether a file is read in the worker process: its reader is built in and not one of SIMPLE_READERS.

    Readers that packages add run in this process, because only this process knows them. A frozen program reads all
    files itself, because it has no Python to start.
    """
    reader = find_reader(path.suffix.lower()) if path.suffix else None
    is_built_in = isinstance(reader, str)  # a name; a package's reader is a function
    return is_built_in and reader not in SIMPLE_READERS and bool(sys.executable) and not hasattr(sys, "frozen")


def read_ahead(
    files: Sequence[Path], words: int, reader: GuardedReader | None, *, outline: bool = False
) -> Generator[tuple[Path, "Future[FilePassages]"], None, None]:
    """Yields (file, its future passages and notes). The next file is read while the caller works on this one.

    words, outline: as in `read_file_passages`. reader: reads the files for which `is_guarded` holds; None: this process
    reads every file.
    """

    def read(path: Path) -> FilePassages:
        if reader is not None and is_guarded(path):
            return reader.read(path, words, outline=outline)
        notes: list[tuple[str, str]] = []
        return list(read_file_passages(path, words, notes, outline=outline)), notes

    pool = ThreadPoolExecutor(1, thread_name_prefix="quorum-read")
    pending_files: list[tuple[Path, Future[FilePassages]]] = []
    try:
        for path in files:
            pending_files.append((path, pool.submit(read, path)))
            if len(pending_files) > 1:
                yield pending_files[0]
                pending_files.pop(0)
        yield from pending_files
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        while reader is not None and any(not future.done() for _, future in pending_files):
            reader.close()  # close it again if the thread has started another process
            sleep(0.02)
        pool.shutdown()


def get_shared_reader(time_limit: float = TIME_LIMIT) -> GuardedReader:
    """The one `GuardedReader` that all code in this process shares. Sets its time limit.

    Its worker process stays for the next files and ends with this process.
    """
    reader = SHARED_READER.get()
    reader.time_limit = time_limit
    return reader


SHARED_READER = PerProcess(GuardedReader)
atexit.register(lambda: SHARED_READER.get().close())
