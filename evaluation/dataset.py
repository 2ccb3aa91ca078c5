"""A data set, checked whole before the first question is asked, then read one question at a time."""

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from core.data import Record, read_questions
from core.errors import SetupError
from evaluation.tasks import looks_like, stated_task, task_of_all

LOG = logging.getLogger("quorum")


@dataclass(frozen=True)
class DataSet:
    """A sound data set: `count` questions, of which `given` bring their own passages.

    task: that of the questions which do not state one.
    """

    path: Path
    limit: int | None
    sha256: str
    count: int
    given: int
    task: str = "short"

    def questions(self) -> Iterator[Record]:
        """One at a time: memory does not grow with the data."""
        return islice(read_questions(self.path), self.limit)

    def task_of(self, record: Record) -> str:
        """What is asked for, as `Context.answer_type` has it."""
        return stated_task(record) or self.task


def read_data(path: Path, limit: int | None = None) -> DataSet:
    """Read all questions (or `limit`) once; a broken line, an empty question, an id used twice is a `SetupError`."""
    if limit is not None and limit < 1:
        raise SetupError(f"A limit of {limit} questions does not fit; give a number from 1 on, or none for all.")
    ids: set[str] = set()
    given = 0
    kinds: set[str] = set()
    left_out: list[str] = []
    for record in islice(read_questions(path, left_out=left_out), limit):
        if not record["question"].strip():
            raise SetupError(f"{path}: question {record['id']!r} is empty; remove the line or write the question.")
        if record["id"] in ids:
            raise SetupError(f"{path}: id {record['id']!r} is there twice; give each question an id of its own.")
        ids.add(record["id"])
        given += bool(record["passages"])
        if stated_task(record) is None and record["answers"]:
            kinds.add(looks_like(record["answers"]))
    if not ids:
        but = f" but {len(left_out)} with keep: false" if left_out else ""
        raise SetupError(f"{path} holds no questions{but}; expected JSON lines of id, question and answers.")
    sha256 = file_hash(path)
    if left_out:
        tell_left_out(path, sha256, len(left_out))
    return DataSet(path, limit, sha256, len(ids), given, task_of_all(kinds))


@lru_cache(maxsize=64)
def tell_left_out(path: Path, sha256: str, count: int) -> None:
    """Say so, once: a comparison reads its questions twice."""
    LOG.warning("%s: %d question%s left out, marked keep: false.", path, count, "" if count == 1 else "s")


def file_hash(path: Path) -> str:
    """The sha256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
