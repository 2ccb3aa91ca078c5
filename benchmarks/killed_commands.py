"""Starts and kills `quorum` commands, and reads what they left behind: a journal, a collection."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.forks import ForkedRun
from benchmarks.harness import (
    ROOT,
)

Findings = dict[str, Any]
LONGEST_WAIT_S = 4.0  # the longest time before a kill, see `kill_at_random`
COMMAND_TIMEOUT_S = 3600.0  # how long a command may take, even on a busy machine


def start_command(*arguments: str, folder: Path, wait: bool = True) -> "subprocess.Popen[str]":
    """Start a `quorum` command in a folder, and wait for its end unless `wait` is false. The first argument is the
    command's name, such as "index".
    """
    command = [sys.executable, "-c", "from quorum.cli.main import main; main()", *arguments]
    process = subprocess.Popen(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    if wait:
        process.communicate(timeout=COMMAND_TIMEOUT_S)
    return process


def kill_at_random(process: ForkedRun, has_begun: Callable[[], bool], rng: random.Random) -> bool:
    """Kill the process at a random moment. Returns whether it was killed: False if it had ended before.

    The moment is at most LONGEST_WAIT_S after the process has begun its work. One time in five the wait begins as soon
    as the process starts, so that the kill may come before the work.
    """
    may_be_killed = has_begun if rng.random() < 0.8 else (lambda: True)
    while process.poll(0.01) is None and not may_be_killed():
        pass
    process.poll(rng.uniform(0, LONGEST_WAIT_S))
    process.kill()
    output = process.finish()
    if process.returncode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"The run failed with code {process.returncode} before it was killed: {output}")
    return process.returncode != 0


def wait_for_success(process: ForkedRun) -> None:
    output = process.finish()
    if process.returncode:
        raise RuntimeError(f"The run failed with code {process.returncode}: {output}")


def count_missing_replies(journal: Path, whole_journal: Path) -> int:
    """How many replies of `whole_journal`, which an uninterrupted run wrote, are missing in `journal`.

    Raises RuntimeError if `journal` is damaged or has replies that `whole_journal` lacks.
    """
    integrity, keys = read_journal(journal)
    _, expected_keys = read_journal(whole_journal)
    if integrity != "ok" or not keys <= expected_keys:
        raise RuntimeError(
            f"The journal {journal} is not sound: {integrity}, {len(keys - expected_keys)} replies that the "
            "uninterrupted run does not have."
        )
    return len(expected_keys - keys)


def read_journal(journal: Path) -> tuple[str, set[str]]:
    """(the result of SQLite's integrity check, the keys of the replies)."""
    with closing(sqlite3.connect(journal)) as connection:
        integrity = str(connection.execute("PRAGMA integrity_check").fetchone()[0])
        return integrity, {key for (key,) in connection.execute("SELECT key FROM replies")}


def find_last_write(store: Path) -> float:
    """The time of the last write to a store's database; 0 if there is none."""
    path = store / "chroma" / "chroma.sqlite3"
    return path.stat().st_mtime if path.exists() else 0.0


def truncate_file(path: Path, rng: random.Random, max_bytes: int) -> None:
    """Cut off a random number of bytes, less than `max_bytes`, at the end of the file, if there is such a file."""
    if path.exists() and path.stat().st_size:
        os.truncate(path, max(0, path.stat().st_size - rng.randrange(1, max_bytes)))


def read_collection(store: Path, collection: str = "killed") -> set[tuple[str, str, bytes]]:
    """Id, text and vector of every passage of a collection.

    Raises RuntimeError if the search index is damaged: a search with the vectors of the first 50 passages must find,
    for each vector, ten different passages of which the nearest has the same vector.
    """
    import chromadb
    import numpy as np

    client = chromadb.PersistentClient(str(store / "chroma"))
    try:
        stored_collection = client.get_collection(collection)
        content: Any = stored_collection.get(include=["documents", "embeddings"])
        vectors = np.asarray(content["embeddings"], np.float32)
        nearest: Any = stored_collection.query(query_embeddings=vectors[:50], n_results=10, include=["distances"])
        if max(row[0] for row in nearest["distances"]) > 1e-3 or any(len(set(ids)) < 10 for ids in nearest["ids"]):
            raise RuntimeError(f"The search in {store} does not find the stored passages.")
        rows = zip(content["ids"], content["documents"], vectors, strict=True)
        return {(id_, text, vector.tobytes()) for id_, text, vector in rows}
    finally:
        client.close()
