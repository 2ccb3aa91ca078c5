"""Keeps every model reply in an SQLite file, the journal, so that no reply is paid for twice.

The journal runs on a thread of its own, so the event loop never blocks. A reply is on disk before its caller sees it,
so a killed process loses nothing. Jobs that arrive while the thread is busy form a batch: the thread first does all
writes of the batch, in one transaction, and then its look-ups. A file that is not a journal is never deleted: a
`SetupError` names it. `quorum.models.journal_database` reads and writes the file.
"""

import asyncio
import atexit
import errno
import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.files import expand_home
from quorum.core.forks import PerProcess
from quorum.core.store_folder import find_own_folder
from quorum.models.journal_database import (
    ROOM,
    Record,
    check_room,
    lacks_room,
    open_database,
    open_read_only,
    read_records,
    write_records,
)
from quorum.models.loops import get_loop_cache

LOG = logging.getLogger("quorum")


def make_key(identity: Mapping[str, Any], decoding: Mapping[str, Any], content: Any, inputs: Any, sample: int) -> str:
    """The key of a reply in the journal: the sha256 of all that decides the reply.

    identity: the model's provider, base URL and name; decoding: the decoding parameters; content: the text of the
    message that the model gets or, if it gets several or tools, all of them (`Request.content`); inputs: for the
    embedded reader, the prompt's variables and the prompt's name, else None; sample: the number of the sample, from 0,
    if the same message is sent several times.
    """
    parts = [dict(identity), dict(decoding), content, inputs, sample]
    return sha256(json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str).encode()).hexdigest()


def find_journal_path(context: Context) -> str | None:
    """The path of the journal's file: the setting `journal`, or journal.sqlite in the store's folder if it is not set.

    If the store is a server, or another program's database, the folder is .quorum/. None if the journal is off.
    """
    if context.journal == "off":
        return None
    if context.journal:
        return context.journal
    return str(find_own_folder(context.store) / "journal.sqlite")


@dataclass(frozen=True)
class JournalJob:
    """A reply to store under a key or, if `record` is None, a key to look up. future: gets the outcome; loop: the event
    loop of the future.
    """

    key: str
    record: Record | None
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Record | None]"


Outcome = tuple[JournalJob, "Record | None", BaseException | None]  # (job, the reply found, the error)


class ReplyStore(Protocol):
    """Looks up and stores replies: a `Journal` of this process, or an object that asks the `Journal` of another one."""

    async def get(self, key: str) -> Record | None: ...

    async def put(self, key: str, record: Record) -> None: ...


class Journal:
    """One journal file. All disk access happens on the journal's own thread.

    room: bytes that must be free on its disk before a model is asked for a reply.
    """

    def __init__(self, path: str, room: int = ROOM) -> None:
        self.path, self.room = path, room
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="quorum-journal")
        self.connection: sqlite3.Connection | None = None
        self.lock = threading.Lock()
        self.waiting_jobs: list[JournalJob] = []
        self.is_busy = False
        self.is_read_only = False  # it can be read, but not written: new replies are not kept
        self.unwritten = room  # bytes of which no write has shown yet that the disk takes them; 0: it takes them

    async def get(self, key: str) -> Record | None:
        """The reply stored under a key; None if there is none."""
        return await self.submit_and_wait(key, None)

    async def put(self, key: str, record: Record) -> None:
        """Store a reply. If a reply is already stored under the key, it is kept, and the new one is dropped, unless
        only the new one has a finish reason: then the old one may be a part of a reply.
        """
        await self.submit_and_wait(key, record)

    async def submit_and_wait(self, key: str, record: Record | None) -> Record | None:
        """Queue a job for the thread and wait for its outcome: store `record` or, if it is None, look up the key.

        A thread that is busy takes the whole queue as soon as it has finished its current batch.
        """
        loop = asyncio.get_running_loop()
        job = JournalJob(key, record, loop, loop.create_future())
        with self.lock:
            self.waiting_jobs.append(job)
            was_idle, self.is_busy = not self.is_busy, True
        if was_idle:
            self.thread.submit(self.run_queue)
        return await job.future

    def run_queue(self) -> None:
        """Do the queued jobs, batch by batch, until the queue is empty. Runs on the journal's thread."""
        while True:
            with self.lock:
                jobs, self.waiting_jobs = self.waiting_jobs, []
                self.is_busy = bool(jobs)
            if not jobs:
                return
            writes = [job for job in jobs if job.record is not None]
            reads = [job for job in jobs if job.record is None]
            outcomes = [*self.run_jobs(writes), *self.run_jobs(reads)]
            for loop in {job.loop for job in jobs}:
                with suppress(RuntimeError):  # the loop was closed
                    loop.call_soon_threadsafe(
                        set_outcomes, [outcome for outcome in outcomes if outcome[0].loop is loop]
                    )

    def run_jobs(self, jobs: Sequence[JournalJob]) -> list[Outcome]:
        """Do jobs that all write, or that all look up, and return their outcomes. A disk error fails all of them."""
        if not jobs:
            return []
        try:
            if self.connection is None:
                self.connection = self.open()
            records = [(job.key, job.record) for job in jobs if job.record is not None]
            if records:
                if not self.is_read_only:
                    self.unwritten = max(self.room, sum(record.size for _, record in records))
                    write_records(self.connection, records)
                    self.unwritten = 0
                return [(job, None, None) for job in jobs]
            records_found = read_records(self.connection, [job.key for job in jobs])
            if None in records_found and not self.is_read_only:
                check_room(self.path, max(self.room, self.unwritten), by_writing=self.unwritten > 0)
                self.unwritten = 0
            return [(job, record, None) for job, record in zip(jobs, records_found, strict=True)]
        except (sqlite3.Error, OSError) as error:
            failure = self.explain_disk_error(error)
            return [(job, None, failure) for job in jobs]
        except Exception as error:  # noqa: BLE001  a bug: pass it to the callers, which would otherwise wait for ever
            if len(jobs) > 1:  # one of the jobs fails: do them one by one, so that the others succeed
                return [outcome for job in jobs for outcome in self.run_jobs([job])]
            return [(job, None, error) for job in jobs]

    def open(self) -> sqlite3.Connection:
        """The open file. One on a read-only disk, or of another user, is opened to read, with a warning."""
        try:
            return open_database(self.path)
        except (sqlite3.OperationalError, OSError) as error:
            is_denied = getattr(error, "errno", None) in (errno.EROFS, errno.EACCES, errno.EPERM)
            if not is_denied and "readonly" not in str(error):
                raise
            connection = open_read_only(self.path)
            self.is_read_only = True
            LOG.warning("The journal %s cannot be written (%s), so new replies are not kept in it.", self.path, error)
            return connection

    def explain_disk_error(self, error: Exception) -> SetupError:
        """The error for a file that cannot be read or written, with what to do next."""
        is_full = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL or getattr(error, "errno", None) in (
            errno.ENOSPC,
            errno.EDQUOT,
        )
        with suppress(OSError):  # SQLite calls it an input or output error if it cannot make the files beside its own
            is_full = is_full or lacks_room(self.path, self.room)
        advice = "make room on the disk, then try again" if is_full else "move that file away, or run with journal=off"
        return SetupError(f"The journal {self.path} cannot be used ({error}); {advice}.")

    def close(self) -> None:
        """Finish the queue and close the file."""
        self.thread.shutdown(wait=True)
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def set_outcomes(outcomes: list[Outcome]) -> None:
    """Set the results of the jobs' futures. Runs on the event loop of these futures; skips cancelled futures."""
    for job, record, error in outcomes:
        if job.future.done():
            continue
        if error is None:
            job.future.set_result(record)
        else:
            job.future.set_exception(error)


class OpenJournals:
    """The journals that this process has opened, by their path."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.by_path: dict[str, Journal] = {}


OPEN_JOURNALS = PerProcess(OpenJournals)  # the parent's connections stay open: closing them would end our own locks


def open_journal(path: str) -> Journal:
    """The `Journal` of a file; a process has only one for each file. `path` is absolute and without links
    (`resolve_path`).
    """
    journals = OPEN_JOURNALS.get()
    with journals.lock:
        if path not in journals.by_path:
            journals.by_path[path] = Journal(path)
        return journals.by_path[path]


def resolve_path(path: str) -> str:
    """The absolute path with links resolved. This reads the disk, so do not call it on an event loop."""
    return str(expand_home(path).resolve())


@atexit.register
def close_journals() -> None:
    """Close all journals. A later call of a model opens its journal again."""
    journals = OPEN_JOURNALS.get()
    with journals.lock:
        while journals.by_path:
            journals.by_path.popitem()[1].close()


async def find_journal(context: Context) -> ReplyStore | None:
    """The journal that the settings name; None if it is off. A path is resolved only once per event loop."""
    path = find_journal_path(context)
    if path is None:
        return None
    loop_cache = get_loop_cache()
    # `share_journals` may have set an opener for this loop.
    opener: Callable[[str], ReplyStore] | None = loop_cache.get_or_make("journals", lambda: None)
    if opener is not None:
        return opener(path)
    resolved_paths: dict[str, str] = loop_cache.get_or_make("resolved journal paths", dict)
    if path not in resolved_paths:
        resolved_paths[path] = await asyncio.to_thread(resolve_path, path)
    return open_journal(resolved_paths[path])


def share_journals(opener: Callable[[str], ReplyStore]) -> None:
    """Let the running event loop get its journals from `opener(path)`, so that several processes share the `Journal` of
    one of them.
    """
    get_loop_cache().entries["journals"] = opener
