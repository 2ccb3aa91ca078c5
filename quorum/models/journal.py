"""Keeps every model reply in SQLite, the journal, so that no reply is paid for twice.

The journal runs on a thread of its own, so the event loop never blocks. A reply is on disk before its caller sees it,
so a killed process loses nothing. Jobs that arrive while the thread is busy form a batch: writes in one transaction,
then look-ups. A file that is not a journal is never deleted: a `SetupError` names it. `quorum.models.journal_database`
reads and writes the file.
"""

import asyncio
import atexit
import errno
import json
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.models.journal_database import Record, open_database, read_records, write_records
from quorum.models.loops import get_loop_cache


def make_key(identity: Mapping[str, Any], decoding: Mapping[str, Any], text: str, inputs: Any, sample: int) -> str:
    """sha256 over the model's identity (provider, base URL, model), the decoding parameters, the message's text,
    `inputs` and the number of the sample.

    inputs: the prompt's variables and its name if the model is the embedded reader, else None.
    """
    parts = [dict(identity), dict(decoding), text, inputs, sample]
    return sha256(json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str).encode()).hexdigest()


def find_journal_path(context: Context) -> str | None:
    """The journal's file: the one that the setting gives, else journal.sqlite in the store's folder.

    If the store is a server, the folder is .quorum/. None if the journal is off.
    """
    if context.journal == "off":
        return None
    if context.journal:
        return context.journal
    return str(Path(".quorum" if "://" in context.store else context.store) / "journal.sqlite")


@dataclass(frozen=True)
class JournalJob:
    """A reply to store or, without a record, a key to look up; with the loop and future that get the outcome."""

    key: str
    record: Record | None
    loop: asyncio.AbstractEventLoop
    outcome: "asyncio.Future[Record | None]"


Outcome = tuple[JournalJob, "Record | None", BaseException | None]


class ReplyStore(Protocol):
    """Looks up and stores replies: a `Journal` of this process, or of another one."""

    async def get(self, key: str) -> Record | None: ...

    async def put(self, key: str, record: Record) -> None: ...


class Journal:
    """One journal file. All disk access happens on the journal's own thread."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="quorum-journal")
        self.connection: sqlite3.Connection | None = None
        self.lock = threading.Lock()
        self.waiting_jobs: list[JournalJob] = []
        self.is_busy = False

    async def get(self, key: str) -> Record | None:
        """The stored reply."""
        return await self.submit_and_wait(key, None)

    async def put(self, key: str, record: Record) -> None:
        """Store a reply. If the key has a reply already, that one stays."""
        await self.submit_and_wait(key, record)

    async def submit_and_wait(self, key: str, record: Record | None) -> Record | None:
        """Queue a job for the thread and wait for its outcome. A busy thread takes the whole queue when it is done."""
        loop = asyncio.get_running_loop()
        job = JournalJob(key, record, loop, loop.create_future())
        with self.lock:
            self.waiting_jobs.append(job)
            was_idle, self.is_busy = not self.is_busy, True
        if was_idle:
            self.thread.submit(self.run_queue)
        return await job.outcome

    def run_queue(self) -> None:
        """Runs on the thread until the queue is empty."""
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
        """The outcomes of jobs that all write or all look up. A disk error fails all of them."""
        if not jobs:
            return []
        try:
            if self.connection is None:
                self.connection = open_database(self.path)
            records = [(job.key, job.record) for job in jobs if job.record is not None]
            if records:
                write_records(self.connection, records)
                return [(job, None, None) for job in jobs]
            records_found = read_records(self.connection, [job.key for job in jobs])
            return [(job, record, None) for job, record in zip(jobs, records_found, strict=True)]
        except (sqlite3.Error, OSError) as error:
            failure = self.explain_disk_error(error)
            return [(job, None, failure) for job in jobs]
        except Exception as error:  # noqa: BLE001  a bug: the callers get it, or they would wait for ever
            if len(jobs) > 1:  # one of the records cannot be stored: store the others one by one
                return [outcome for job in jobs for outcome in self.run_jobs([job])]
            return [(job, None, error) for job in jobs]

    def explain_disk_error(self, error: Exception) -> SetupError:
        """The error for a file that cannot be read or written, with what to do next."""
        is_full = (
            getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
            or getattr(error, "errno", None) == errno.ENOSPC
        )
        advice = "make room, then run the same again" if is_full else "move that file away, or run with journal=off"
        return SetupError(f"The journal {self.path} cannot be used ({error}); {advice}.")

    def close(self) -> None:
        """Finish the queue and close the file."""
        self.thread.shutdown(wait=True)
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def set_outcomes(outcomes: list[Outcome]) -> None:
    """Set the futures' outcomes, on their own loop. Cancelled futures are skipped."""
    for job, record, error in outcomes:
        if job.outcome.done():
            continue
        if error is None:
            job.outcome.set_result(record)
        else:
            job.outcome.set_exception(error)


OPEN_JOURNALS: dict[str, Journal] = {}
OPENING_LOCK = threading.Lock()


def open_journal(path: str) -> Journal:
    """The journal of a file: one per process. `path` is absolute and without links (`resolve_path`)."""
    with OPENING_LOCK:
        if path not in OPEN_JOURNALS:
            OPEN_JOURNALS[path] = Journal(path)
        return OPEN_JOURNALS[path]


def resolve_path(path: str) -> str:
    """The absolute path with links resolved. Reads the disk: do not call it on an event loop."""
    return str(Path(path).expanduser().resolve())


@atexit.register
def close_journals() -> None:
    """Close all journals. A later call opens them again."""
    with OPENING_LOCK:
        while OPEN_JOURNALS:
            OPEN_JOURNALS.popitem()[1].close()


async def find_journal(context: Context) -> ReplyStore | None:
    """The journal of a run; None if it is off. Its path is resolved once per event loop."""
    path = find_journal_path(context)
    if path is None:
        return None
    loop_cache = get_loop_cache()
    opener: Callable[[str], ReplyStore] | None = loop_cache.get_or_make("journals", lambda: None)
    if opener is not None:
        return opener(path)
    resolved_paths: dict[str, str] = loop_cache.get_or_make("resolved journal paths", dict)
    if path not in resolved_paths:
        resolved_paths[path] = await asyncio.to_thread(resolve_path, path)
    return open_journal(resolved_paths[path])


def share_journals(opener: Callable[[str], ReplyStore]) -> None:
    """Let the running event loop get its journals from `opener`, so that several processes share one writer."""
    get_loop_cache().entries["journals"] = opener
