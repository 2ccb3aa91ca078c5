"""The journal: every model reply that was paid for, in SQLite, so that nothing is paid twice.

It runs on a thread of its own (the event loop never blocks), in WAL mode with a busy timeout (several processes may
share one file), and a reply is on disk before its caller sees it (a killed process loses nothing). A file that is no
journal is never deleted, for what is in it was paid for: a `SetupError` names it.
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
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from core.context import Context
from core.errors import SetupError

T = TypeVar("T")
VERSION = 1
BUSY_SECONDS = 60.0
TABLE = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, prompt TEXT NOT NULL, version TEXT NOT NULL, sample INTEGER NOT NULL,
    text TEXT NOT NULL, finish TEXT, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL, seconds REAL NOT NULL, created REAL NOT NULL
)"""


@dataclass(frozen=True)
class Record:
    """One reply as it came: the raw text, what it took, and which prompt asked for it."""

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


def key_of(identity: Mapping[str, Any], decoding: Mapping[str, Any], text: str, inputs: Any, sample: int) -> str:
    """sha256 over provider, base URL and model, decoding parameters, message, structured inputs and sample index."""
    parts = [dict(identity), dict(decoding), text, inputs, sample]
    return sha256(json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str).encode()).hexdigest()


def journal_path(context: Context) -> str | None:
    """The journal's file, or None when it is off: beside a local store, else in .quorum/."""
    if context.journal == "off":
        return None
    if context.journal:
        return context.journal
    return str(Path(".quorum" if "://" in context.store else context.store) / "journal.sqlite")


class Journal:
    """One journal file. Every method but the constructor touches the disk on the journal's own thread."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="quorum-journal")
        self.connection: sqlite3.Connection | None = None

    async def get(self, key: str) -> Record | None:
        """The stored reply."""
        return await self.run(lambda connection: read(connection, key))

    async def put(self, key: str, record: Record) -> None:
        """Keep a reply; the first one under a key stays."""
        await self.run(lambda connection: write(connection, key, record))

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.wrap_future(self.thread.submit(self.do, work))

    def do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            if self.connection is None:
                self.connection = connect(self.path)
            return work(self.connection)
        except (sqlite3.Error, OSError) as error:
            full = "full" in str(error) or getattr(error, "errno", None) == errno.ENOSPC
            mend = "make room, then run the same again" if full else "move that file away, or run with journal=off"
            raise SetupError(f"The journal {self.path} cannot be used ({error}); {mend}.") from None

    def close(self) -> None:
        """Finish what is under way and close the file."""
        self.thread.shutdown(wait=True)
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def connect(path: str) -> sqlite3.Connection:
    """Open the file, made if need be."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        patiently(lambda: connection.execute("PRAGMA journal_mode=WAL").close())
        connection.execute("PRAGMA synchronous=NORMAL").close()
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, VERSION):
            raise sqlite3.DatabaseError(f"written by another version, layout {found} where {VERSION} is known")
        patiently(lambda: connection.executescript(f"BEGIN IMMEDIATE; {TABLE}; PRAGMA user_version={VERSION}; COMMIT;"))
    except BaseException:
        connection.close()
        raise
    return connection


def patiently(work: Callable[[], object]) -> None:
    """Try again while another process opens the file: SQLite does not wait by itself when it changes to WAL."""
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


def read(connection: sqlite3.Connection, key: str) -> Record | None:
    fields = "text, finish, input_tokens, output_tokens, cached_tokens, seconds, model, prompt, version, sample"
    with closing(connection.execute(f"SELECT {fields} FROM replies WHERE key = ?", (key,))) as cursor:
        row = cursor.fetchone()
    return None if row is None else Record(*row)


def write(connection: sqlite3.Connection, key: str, record: Record) -> None:
    values = (
        *(key, record.model, record.prompt, record.version, record.sample, record.text, record.finish),
        *(record.input_tokens, record.output_tokens, record.cached_tokens, record.seconds, time.time()),
    )
    marks = ", ".join("?" * len(values))
    connection.execute(f"INSERT OR IGNORE INTO replies VALUES ({marks})", values).close()


OPEN: dict[str, Journal] = {}
OPENING = threading.Lock()


def open_journal(path: str) -> Journal:
    """The journal of a file: one per process. Looks at the disk, so never call it on an event loop."""
    full = str(Path(path).expanduser().resolve())
    with OPENING:
        if full not in OPEN:
            OPEN[full] = Journal(full)
        return OPEN[full]


@atexit.register
def close_journals() -> None:
    """Close every file; a later call opens them again."""
    with OPENING:
        while OPEN:
            OPEN.popitem()[1].close()


async def journal_of(context: Context) -> Journal | None:
    """The journal of a run, None when it is off."""
    path = journal_path(context)
    return None if path is None else await asyncio.to_thread(open_journal, path)
