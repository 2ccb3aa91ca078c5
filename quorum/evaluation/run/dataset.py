"""Checks a whole data set before the first question is asked, then reads it one question at a time."""

import hashlib
import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path

from quorum.core.errors import SetupError
from quorum.core.files import open_regular
from quorum.core.labels import LABELS
from quorum.core.state import Passage
from quorum.core.text import format_count
from quorum.datasets.questions import read_questions
from quorum.datasets.records import Record
from quorum.evaluation.run.tasks import find_common_task, get_stated_task, guess_task, infer_labels, read_document_group

LOG = logging.getLogger("quorum")
MOST_NAMED_RECORDS = 5  # at most so many skipped records are named in warnings


@dataclass(frozen=True)
class DataSet:
    """A valid data set of `count` questions.

    limit: only so many questions from the beginning of the file are used; None: all of them. sha256: the hash of the
    file. count_with_passages: how many questions bring their own passages; most_passages: the largest number of
    passages that a question brings. count_without_answers: how many questions have no accepted answer, so that
    "unknown" is right. task: the task of questions that state none; labels: the labels that a claim (a
    question with the task label) may have, if its record does not list them. skip_bad: whether broken records are
    skipped instead of raising `SetupError`; skipped: how many were skipped. excluded_ids: ids of questions that are not
    asked. gold_passages: by question id, gold passages that the questions do not bring; they are added to the records.
    seed: draws a random order of the questions; None: they keep the file's order. by_group: if the order is random,
    questions of the same group (`read_document_group`) still follow one another.
    """

    path: Path
    limit: int | None
    sha256: str
    count: int
    count_with_passages: int
    task: str = "short"
    most_passages: int = 0
    skip_bad: bool = False
    skipped: int = 0
    excluded_ids: frozenset[str] = frozenset()
    gold_passages: Mapping[str, list[Passage]] = field(default_factory=dict)
    seed: int | None = None
    by_group: bool = False
    labels: tuple[str, ...] = LABELS
    count_without_answers: int = 0

    @property
    def missing_answers_note(self) -> str:
        """A sentence about the questions without an accepted answer; "" if all have one."""
        return describe_missing_answers(self.count_without_answers, self.count)

    def read_records(self) -> Iterator[Record]:
        """Read the questions one at a time: memory does not grow with the data, unless they come in a random order."""
        if self.seed is None:
            return self.read_in_file_order()
        groups = group_records(list(self.read_in_file_order()), by_group=self.by_group)
        random.Random(self.seed).shuffle(groups)
        return (record for group in groups for record in group)

    def read_in_file_order(self) -> Iterator[Record]:
        """The questions in the order of the file."""
        for record in islice(
            read_valid_records(self.path, problems=[]) if self.skip_bad else read_questions(self.path), self.limit
        ):
            if record["id"] in self.gold_passages:
                record["gold_passages"] = self.gold_passages[record["id"]]
            if record["id"] not in self.excluded_ids:
                yield record

    def get_task(self, record: Record) -> str:
        """The task of a question, as a value of `Context.answer_type`."""
        return get_stated_task(record) or self.task


def group_records(records: Sequence[Record], *, by_group: bool) -> list[list[Record]]:
    """The records of each group, in the order of the file. Without `by_group`, every record is a group by itself; so is
    a record for which the data name no group.
    """
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        name = read_document_group(record) if by_group else None
        groups.setdefault(("question", record["id"]) if name is None else ("group", name), []).append(record)
    return list(groups.values())


def read_data(path: Path, limit: int | None = None, *, skip_bad: bool = False) -> DataSet:
    """Read all questions (or the first `limit`) once, to check and count them. A broken line, an empty question, a
    repeated id or an unknown task raises `SetupError`; with `skip_bad`, the record is skipped, counted and reported.
    """
    if limit is not None and limit < 1:
        raise SetupError(
            f"A limit of {limit} questions does not fit; give a number from 1 on, or no limit to use all questions."
        )
    count = count_with_passages = most_passages = claim_count = count_without_answers = 0
    guessed_tasks: set[str] = set()
    left_out_ids: list[str] = []
    problems: list[str] = []
    records = read_valid_records(path, problems=problems if skip_bad else None, left_out_ids=left_out_ids)
    for record in islice(records, limit):
        count += 1
        count_with_passages += bool(record["passages"])
        most_passages = max(most_passages, len(record["passages"]))
        count_without_answers += not record["answers"]
        guessed_task = guess_task(record["answers"])
        claim_count += guessed_task == "label" and bool(record["answers"])
        if get_stated_task(record) is None and record["answers"]:
            guessed_tasks.add(guessed_task)
    if not count:
        causes = [f"{len(left_out_ids)} with keep: false"] if left_out_ids else []
        causes += [f"{len(problems)} that cannot be read (the first: {problems[0].rstrip('.')})"] if problems else []
        explanation = f" that can be asked: {' and '.join(causes)}" if causes else ""
        raise SetupError(
            f"{path} holds no questions{explanation}; expected JSON lines or CSV of id, question and answers."
        )
    sha256 = hash_file(path)
    if left_out_ids:
        warn_left_out(path, sha256, len(left_out_ids))
    if problems:
        warn_skipped(path, sha256, len(problems), tuple(problems[:MOST_NAMED_RECORDS]))
    if count_without_answers:
        warn_missing_answers(path, sha256, describe_missing_answers(count_without_answers, count))
    labels = find_labels(path) if claim_count else LABELS
    return DataSet(
        path,
        limit,
        sha256,
        count,
        count_with_passages,
        find_common_task(guessed_tasks),
        most_passages,
        skip_bad,
        len(problems),
        labels=labels,
        count_without_answers=count_without_answers,
    )


def describe_missing_answers(count_without_answers: int, count: int) -> str:
    """A sentence about the questions without an accepted answer; "" if all of the `count` questions have one.

    >>> describe_missing_answers(2, 3)
    '2 of 3 questions have no accepted answer: only "unknown" counts as right.'
    """
    if not count_without_answers:
        return ""
    verb = "has" if count_without_answers == 1 else "have"
    questions = format_count(count, "question")
    return f'{count_without_answers:,} of {questions} {verb} no accepted answer: only "unknown" counts as right.'


def find_labels(path: Path) -> tuple[str, ...]:
    """The labels of the claims in the whole file, whatever the limit."""
    return infer_labels(record["answers"] for record in read_questions(path, problems=[]))


def read_valid_records(
    path: Path, *, problems: list[str] | None, left_out_ids: list[str] | None = None
) -> Iterator[Record]:
    """The valid questions. An invalid one raises `SetupError`. If the list `problems` is given, a sentence about the
    invalid question is added to that list instead. left_out_ids: a list to which the ids of the questions marked
    keep: false are added; these questions are left out in any case.
    """
    ids: set[str] = set()
    for record in read_questions(path, problems=problems, left_out=left_out_ids):
        try:
            check_record(record, ids, path)
        except SetupError as error:
            if problems is None:
                raise
            problems.append(str(error))
            continue
        ids.add(record["id"])
        yield record


def check_record(record: Record, ids: set[str], path: Path) -> None:
    """Raises `SetupError` unless the record has a question, an id that is not in `ids`, and a known task."""
    if not record["question"].strip():
        raise SetupError(f"{path}: question {record['id']!r} is empty; remove the line or write the question.")
    if record["id"] in ids:
        raise SetupError(f"{path}: id {record['id']!r} is there twice; give each question an id of its own.")
    get_stated_task(record)


@lru_cache(maxsize=64)
def warn_skipped(path: Path, sha256: str, count: int, reasons: tuple[str, ...]) -> None:
    """Warn about skipped records, once for each content of the file (`sha256`).

    count: how many records were skipped; reasons: for each of the first MOST_NAMED_RECORDS, a sentence that names the
    record and says what is wrong.
    """
    for reason in reasons:
        LOG.warning("skipped %s", reason)
    hint = f"; the messages above name the first {len(reasons):,}" if count > len(reasons) else ""
    LOG.warning("%s: %d broken record%s skipped%s.", path, count, "" if count == 1 else "s", hint)


@lru_cache(maxsize=64)
def warn_left_out(path: Path, sha256: str, count: int) -> None:
    """Warn about `count` questions that are marked keep: false, once for each content of the file (`sha256`): a
    comparison reads its questions twice, and the second reading must not warn again.
    """
    LOG.warning("%s: %d question%s left out, marked keep: false.", path, count, "" if count == 1 else "s")


@lru_cache(maxsize=64)
def warn_missing_answers(path: Path, sha256: str, note: str) -> None:
    """Warn about questions without an accepted answer, once for each content of the file (`sha256`)."""
    LOG.warning("%s: %s", path, note)


def hash_file(path: Path) -> str:
    """The sha256 of a file's bytes."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
