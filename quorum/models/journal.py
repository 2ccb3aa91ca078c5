"""The journal keeps every model reply in SQLite, so that no reply is paid for twice.

It runs on a thread of its own, so the event loop never blocks. WAL mode and a busy timeout let several processes share
one file. A reply is on disk before its caller sees it, so a killed process loses nothing. Jobs that arrive while the
thread is busy form a batch: writes in one transaction, then look-ups. A file that is not a journal is never deleted: a
`SetupError` names it.
"""

import asyncio
import atexit
import errno
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.private_files import make_private_file, make_private_folder
from quorum.models.loops import per_loop
from quorum.models.token_counts import MOST_TOKENS

VERSION = 1
BUSY_SECONDS = 60.0
TABLE = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, prompt TEXT NOT NULL, version TEXT NOT NULL, sample INTEGER NOT NULL,
    text TEXT NOT NULL, finish TEXT, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL, seconds REAL NOT NULL, created REAL NOT NULL
)"""
# A separate table, so that older versions of Quorum can still use the file.
DETAILS = "CREATE TABLE IF NOT EXISTS details (key TEXT PRIMARY KEY, left_out TEXT NOT NULL, reasoning TEXT NOT NULL)"
# Invalid token counts (fractions, strings, 10**30) that an older version stored: such replies are asked for again.
UNSOUND = " OR ".join(
    f"typeof(replies.{count}) != 'integer' OR replies.{count} NOT BETWEEN 0 AND {MOST_TOKENS}"
    for count in ("input_tokens", "output_tokens", "cached_tokens")
)


@dataclass(frozen=True)
class Record:
    """One raw reply: its text, its cost, and the prompt that asked for it.

    left_out: decoding parameters that the model refused, separated by commas; reasoning: what the server sent beside
    the answer.
    """

    text: str
    finish: str | None
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    seconds: float
    model: str = ""
    prompt: str = ""
    version: str = ""
    sample: int = 0
    left_out: str = ""
    reasoning: str = ""

    @property
    def is_greedy(self) -> bool:
        """False if temperature 0 was asked for and the model refused it."""
        return "temperature" not in self.left_out.split(",")


def key_of(identity: Mapping[str, Any], decoding: Mapping[str, Any], text: str, inputs: Any, sample: int) -> str:
    """sha256 over provider, base URL and model, decoding parameters, message, structured inputs and sample index."""
    parts = [dict(identity), dict(decoding), text, inputs, sample]
    return sha256(json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str).encode()).hexdigest()


def journal_path(context: Context) -> str | None:
    """The journal's file: beside a local store, else in .quorum/. None if the journal is off."""
    if context.journal == "off":
        return None
    if context.journal:
        return context.journal
    return str(Path(".quorum" if "://" in context.store else context.store) / "journal.sqlite")


@dataclass(frozen=True)
class Job:
    """A reply to store or, without a record, a key to look up; with the loop and future that get the outcome."""

    key: str
    record: Record | None
    loop: asyncio.AbstractEventLoop
    done: "asyncio.Future[Record | None]"


Outcome = tuple[Job, "Record | None", BaseException | None]


class Replies(Protocol):
    """Looks up and stores replies: a `Journal` of this process, or of another one."""

    async def get(self, key: str) -> Record | None: ...

    async def put(self, key: str, record: Record) -> None: ...


class Journal:
    """One journal file. All disk access happens on the journal's own thread."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="quorum-journal")
        self.connection: sqlite3.Connection | None = None
        self.guard = threading.Lock()
        self.waiting: list[Job] = []
        self.awake = False

    async def get(self, key: str) -> Record | None:
        """The stored reply."""
        return await self.wait(key, None)

    async def put(self, key: str, record: Record) -> None:
        """Store a reply. If the key has a reply already, that one stays."""
        await self.wait(key, record)

    async def wait(self, key: str, record: Record | None) -> Record | None:
        """Queue a job for the thread and wait for its outcome. A busy thread takes the whole queue when it is done."""
        loop = asyncio.get_running_loop()
        job = Job(key, record, loop, loop.create_future())
        with self.guard:
            self.waiting.append(job)
            asleep, self.awake = not self.awake, True
        if asleep:
            self.thread.submit(self.work)
        return await job.done

    def work(self) -> None:
        """Runs on the thread until the queue is empty."""
        while True:
            with self.guard:
                jobs, self.waiting = self.waiting, []
                self.awake = bool(jobs)
            if not jobs:
                return
            outcomes = [*self.do(jobs, write, True), *self.do(jobs, read, False)]
            for loop in {job.loop for job in jobs}:
                with suppress(RuntimeError):  # the loop was closed
                    loop.call_soon_threadsafe(tell, [outcome for outcome in outcomes if outcome[0].loop is loop])

    def do(
        self, jobs: list[Job], act: Callable[[sqlite3.Connection, list[Job]], list[Record | None]], writes: bool
    ) -> list[Outcome]:
        """The outcomes of the jobs that write, or of those that look up. A disk error fails all of them."""
        chosen = [job for job in jobs if (job.record is not None) is writes]
        if not chosen:
            return []
        try:
            if self.connection is None:
                self.connection = connect(self.path)
            return [(job, found, None) for job, found in zip(chosen, act(self.connection, chosen), strict=True)]
        except (sqlite3.Error, OSError) as error:
            told = self.unusable(error)
            return [(job, None, told) for job in chosen]
        except Exception as error:  # noqa: BLE001  a bug: the callers get it, or they would wait for ever
            if len(chosen) > 1:  # one of them cannot be stored: store the others one by one
                return [outcome for job in chosen for outcome in self.do([job], act, writes)]
            return [(job, None, error) for job in chosen]

    def unusable(self, error: Exception) -> SetupError:
        """The error for a file that cannot be read or written, with what to do next."""
        full = "full" in str(error) or getattr(error, "errno", None) == errno.ENOSPC
        mend = "make room, then run the same again" if full else "move that file away, or run with journal=off"
        return SetupError(f"The journal {self.path} cannot be used ({error}); {mend}.")

    def close(self) -> None:
        """Finish the queue and close the file."""
        self.thread.shutdown(wait=True)
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def tell(outcomes: list[Outcome]) -> None:
    """Set the futures' outcomes, on their own loop. Cancelled futures are skipped."""
    for job, found, error in outcomes:
        if job.done.done():
            continue
        if error is None:
            job.done.set_result(found)
        else:
            job.done.set_exception(error)


def connect(path: str) -> sqlite3.Connection:
    """Open the file; create it if it is missing. SQLite's files beside it get its permissions."""
    make_private_folder(Path(path).parent)
    make_private_file(Path(path))
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        patiently(lambda: connection.execute("PRAGMA journal_mode=WAL").close())
        connection.execute("PRAGMA synchronous=NORMAL").close()
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, VERSION):
            raise sqlite3.DatabaseError(f"written by another version, layout {found} where {VERSION} is known")
        patiently(
            lambda: connection.executescript(
                f"BEGIN IMMEDIATE; {TABLE}; {DETAILS}; PRAGMA user_version={VERSION}; COMMIT;"
            )
        )
    except BaseException:
        connection.close()
        raise
    return connection


def patiently(work: Callable[[], object]) -> None:
    """Try again while another process opens the file: SQLite's busy timeout does not cover the change to WAL."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            work()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def read(connection: sqlite3.Connection, jobs: list[Job]) -> list[Record | None]:
    """The stored reply of each job's key; None if there is none or its token counts are invalid."""
    fields = "text, finish, input_tokens, output_tokens, cached_tokens, seconds, model, prompt, version, sample"
    joined = "replies LEFT JOIN details ON details.key = replies.key"
    query = (
        f"SELECT {fields}, coalesce(left_out, ''), coalesce(reasoning, '') FROM {joined} "
        f"WHERE replies.key = ? AND NOT ({UNSOUND})"
    )
    with closing(connection.cursor()) as cursor:
        rows = [cursor.execute(query, (job.key,)).fetchone() for job in jobs]
    return [None if row is None else Record(*row) for row in rows]


def write(connection: sqlite3.Connection, jobs: list[Job]) -> list[Record | None]:
    """Store the replies of all jobs, or none of them."""
    rows = [row_of(job.key, job.record) for job in jobs if job.record is not None]
    details = [
        (job.key, job.record.left_out, job.record.reasoning)
        for job in jobs
        if job.record is not None and (job.record.left_out or job.record.reasoning)
    ]
    with closing(connection.cursor()) as cursor:
        cursor.execute("BEGIN IMMEDIATE")
        try:
            cursor.executemany(f"DELETE FROM replies WHERE key = ? AND ({UNSOUND})", [(row[0],) for row in rows])
            # If another process has stored a reply under the key meanwhile, that reply stays, without these details.
            cursor.executemany(
                "INSERT OR IGNORE INTO details SELECT ?1, ?2, ?3 "
                "WHERE NOT EXISTS (SELECT 1 FROM replies WHERE key = ?1)",
                details,
            )
            cursor.executemany(f"INSERT OR IGNORE INTO replies VALUES ({', '.join('?' * len(rows[0]))})", rows)
            cursor.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # on a full disk SQLite has already ended it
                cursor.execute("ROLLBACK")
            raise
    return [None] * len(jobs)


def row_of(key: str, record: Record) -> tuple[object, ...]:
    return (
        *(key, record.model, record.prompt, record.version, record.sample, record.text, record.finish),
        *(record.input_tokens, record.output_tokens, record.cached_tokens, record.seconds, time.time()),
    )


OPEN: dict[str, Journal] = {}
OPENING = threading.Lock()


def open_journal(path: str) -> Journal:
    """The journal of a file: one per process. `path` is absolute and without links (`whole`)."""
    with OPENING:
        if path not in OPEN:
            OPEN[path] = Journal(path)
        return OPEN[path]


def whole(path: str) -> str:
    """The absolute path with links resolved. Reads the disk: do not call it on an event loop."""
    return str(Path(path).expanduser().resolve())


@atexit.register
def close_journals() -> None:
    """Close all journals. A later call opens them again."""
    with OPENING:
        while OPEN:
            OPEN.popitem()[1].close()


async def journal_of(context: Context) -> Replies | None:
    """The journal of a run; None if it is off. Its path is resolved once per event loop."""
    path = journal_path(context)
    if path is None:
        return None
    state = per_loop()
    opener: Callable[[str], Replies] | None = state.once("journals", lambda: None)
    if opener is not None:
        return opener(path)
    places: dict[str, str] = state.once("places of journals", dict)
    if path not in places:
        places[path] = await asyncio.to_thread(whole, path)
    return open_journal(places[path])


def share_journals(opener: Callable[[str], Replies]) -> None:
    """Make the running loop get its journals from `opener`, for several processes with one writer."""
    per_loop().made["journals"] = opener
