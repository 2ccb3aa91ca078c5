"""The journal's SQLite file: its tables, and how records are read and written. Everything here blocks.

WAL mode and a busy timeout let several processes share one file.
"""

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from quorum.core.private_files import make_private_file, make_private_folder, open_private_bytes
from quorum.models.token_counts import MAX_TOKENS

VERSION = 1
ROOM = 64 * 1024  # bytes that must be free on the disk before a reply is asked for
BUSY_SECONDS = 60.0
# prompt, version: the name of the prompt and the hash of its text. sample: the number, from 0, of this reply among the
# replies to the same message. finish: why the model stopped. cached_tokens: the input tokens that the server's prefix
# cache held. created: when the reply was stored, in seconds since 1970.
CREATE_REPLIES = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, prompt TEXT NOT NULL, version TEXT NOT NULL, sample INTEGER NOT NULL,
    text TEXT NOT NULL, finish TEXT, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL, seconds REAL NOT NULL, created REAL NOT NULL
)"""
# A separate table, so that older versions of Quorum can still use the file.
CREATE_DETAILS = (
    "CREATE TABLE IF NOT EXISTS details (key TEXT PRIMARY KEY, left_out TEXT NOT NULL, reasoning TEXT NOT NULL)"
)
# Also a table of its own: few replies call tools.
CREATE_TOOL_CALLS = "CREATE TABLE IF NOT EXISTS tool_calls (key TEXT PRIMARY KEY, calls TEXT NOT NULL)"
# The SQL condition for replies with invalid token counts (fractions, strings, 10**30), which an older version stored.
# Such replies count as missing, so that the model is asked again.
INVALID_COUNTS = " OR ".join(
    f"typeof(replies.{count}) != 'integer' OR replies.{count} NOT BETWEEN 0 AND {MAX_TOKENS}"
    for count in ("input_tokens", "output_tokens", "cached_tokens")
)


@dataclass(frozen=True)
class Record:
    """One raw reply: its text, its cost, and the prompt that asked for it.

    prompt_name, prompt_version: the prompt's name and the hash of its text; the table's columns are prompt and version.
    left_out: the names of the parameters that the model refused, separated by commas. They are decoding parameters and
    response_format (the JSON schema), which is also listed if the model ignored it. reasoning: the reasoning that the
    server sent in a field of its own. tool_calls_json: the calls of tools in the reply, as JSON; "" for none
    (`quorum.models.tools`).
    """

    text: str
    finish: str | None
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    seconds: float
    model: str = ""
    prompt_name: str = ""
    prompt_version: str = ""
    sample: int = 0
    left_out: str = ""
    reasoning: str = ""
    tool_calls_json: str = ""

    @property
    def size(self) -> int:
        """About how many bytes it takes in the file, and once more in the file beside it, SQLite's log."""
        return ROOM + 2 * (len(self.text.encode()) + len(self.reasoning.encode()) + len(self.tool_calls_json.encode()))

    @property
    def temperature_refused(self) -> bool:
        """Whether the model refused the parameter temperature, whatever its value."""
        return "temperature" in self.left_out.split(",")


def open_database(path: str) -> sqlite3.Connection:
    """Open the file; create it if it is missing.

    The files that SQLite adds beside it (-wal, -shm) get its permissions.
    """
    make_private_folder(Path(path).parent)
    make_private_file(Path(path))
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        retry_while_locked(lambda: connection.execute("PRAGMA journal_mode=WAL").close())
        connection.execute("PRAGMA synchronous=NORMAL").close()
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError(
                f"another version of Quorum wrote it with layout {version}; this version reads only layout {VERSION}"
            )
        retry_while_locked(
            lambda: connection.executescript(
                f"BEGIN IMMEDIATE; {CREATE_REPLIES}; {CREATE_DETAILS}; {CREATE_TOOL_CALLS}; "
                f"PRAGMA user_version={VERSION}; COMMIT;"
            )
        )
    except BaseException:
        connection.close()
        raise
    return connection


def open_read_only(path: str) -> sqlite3.Connection:
    """Open a file that cannot be written; a missing file is like an empty one. Raises OSError if it cannot be read."""
    if Path(path).exists():
        open(path, "rb").close()
        address = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        if "tool_calls" not in tables:  # a file of an older Quorum, which this one cannot change
            connection.execute(CREATE_TOOL_CALLS.replace("TABLE", "TEMP TABLE", 1)).close()
        return connection
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.executescript(f"{CREATE_REPLIES}; {CREATE_DETAILS}; {CREATE_TOOL_CALLS};")
    return connection


def remove_all_records(path: str) -> int:
    """Remove all replies from a journal, with the bytes of their texts in the file. Returns how many there were.

    Nothing is done if there is no such file. Raises sqlite3.Error if it is no journal, or is in use.
    """
    if not Path(path).exists():
        return 0
    with closing(open_database(path)) as connection:
        count = int(connection.execute("SELECT COUNT(*) FROM replies").fetchone()[0])
        connection.execute("DELETE FROM details").close()
        connection.execute("DELETE FROM tool_calls").close()
        connection.execute("DELETE FROM replies").close()
        connection.execute("VACUUM").close()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
    return count


def lacks_room(path: str, room: int = ROOM) -> bool:
    """Whether fewer than `room` bytes are free on the disk."""
    return shutil.disk_usage(Path(path).parent).free < room


def check_room(path: str, room: int = ROOM, *, by_writing: bool) -> None:
    """Raise OSError, before a reply is paid for, if the disk has no room for `room` bytes.

    by_writing: write a file of that size, too, and remove it, because only that shows that a quota is used up.
    """
    if lacks_room(path, room):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    if by_writing:
        probe = Path(f"{path}-room-{os.getpid()}")
        try:
            with open_private_bytes(probe, "wb") as file:
                file.write(b"0" * room)
        finally:
            probe.unlink(missing_ok=True)


def retry_while_locked(work: Callable[[], object]) -> None:
    """Call `work`, and call it again while another process has locked the file, for up to BUSY_SECONDS.

    SQLite's own busy timeout does not cover the change to WAL.
    """
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


def read_records(connection: sqlite3.Connection, keys: Sequence[str]) -> list[Record | None]:
    """The stored reply of each key; None if there is none or its token counts are invalid."""
    fields = "text, finish, input_tokens, output_tokens, cached_tokens, seconds, model, prompt, version, sample"
    tables = (
        "replies LEFT JOIN details ON details.key = replies.key LEFT JOIN tool_calls ON tool_calls.key = replies.key"
    )
    query = (
        f"SELECT {fields}, coalesce(left_out, ''), coalesce(reasoning, ''), coalesce(calls, '') FROM {tables} "
        f"WHERE replies.key = ? AND NOT ({INVALID_COUNTS})"
    )
    with closing(connection.cursor()) as cursor:
        rows = [cursor.execute(query, (key,)).fetchone() for key in keys]
    return [None if row is None else Record(*row) for row in rows]


def write_records(connection: sqlite3.Connection, records: Sequence[tuple[str, Record]]) -> None:
    """Store all (key, reply) pairs, or none of them if an error is raised. If a key already has a reply, that reply
    stays, unless its token counts are invalid, or it has no finish reason and the new one has one.
    """
    rows = [make_row(key, record) for key, record in records]
    details = [
        (key, record.left_out, record.reasoning) for key, record in records if record.left_out or record.reasoning
    ]
    tool_calls = [(key, record.tool_calls_json) for key, record in records if record.tool_calls_json]
    with closing(connection.cursor()) as cursor:
        cursor.execute("BEGIN IMMEDIATE")
        try:
            keys = [(key, record.finish) for key, record in records]
            is_replaced = f"key = ?1 AND ({INVALID_COUNTS} OR (finish IS NULL AND ?2 IS NOT NULL))"
            for table in ("details", "tool_calls"):
                cursor.executemany(
                    f"DELETE FROM {table} WHERE key = ?1 AND EXISTS (SELECT 1 FROM replies WHERE {is_replaced})", keys
                )
            cursor.executemany(f"DELETE FROM replies WHERE {is_replaced}", keys)
            # If another process has meanwhile stored a reply under the key, neither our reply nor its details are
            # stored.
            cursor.executemany(
                "INSERT OR IGNORE INTO details SELECT ?1, ?2, ?3 "
                "WHERE NOT EXISTS (SELECT 1 FROM replies WHERE key = ?1)",
                details,
            )
            cursor.executemany(
                "INSERT OR IGNORE INTO tool_calls SELECT ?1, ?2 "
                "WHERE NOT EXISTS (SELECT 1 FROM replies WHERE key = ?1)",
                tool_calls,
            )
            cursor.executemany(f"INSERT OR IGNORE INTO replies VALUES ({', '.join('?' * len(rows[0]))})", rows)
            cursor.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # on a full disk SQLite has already ended the transaction
                cursor.execute("ROLLBACK")
            raise


def make_row(key: str, record: Record) -> tuple[object, ...]:
    return (
        *(key, record.model, record.prompt_name, record.prompt_version, record.sample, record.text, record.finish),
        *(record.input_tokens, record.output_tokens, record.cached_tokens, record.seconds, time.time()),
    )
