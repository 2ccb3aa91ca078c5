"""The folder with the files of all runs: finds, lists, names and deletes them, and bounds their number and size.

Every process that serves runs holds a lock as long as it lives. A run without an end whose process is gone was
interrupted: whoever reads it first closes it.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

from filelock import FileLock

from quorum.core.files import read_regular
from quorum.core.private_files import FILE_MODE, open_private_text
from quorum.evaluation.shown.run_summary import summarize_run
from quorum.serving.errors import Refusal
from quorum.serving.runs.call_log import FORMAT_NAME as CALLS_FORMAT
from quorum.serving.runs.export import MethodAnswer, read_answers
from quorum.serving.runs.process_locks import ProcessLocks
from quorum.serving.runs.request import RUN_ID, make_title
from quorum.serving.runs.run_file import RunFile

MOST_RUNS, MOST_BYTES = 1000, 500_000_000  # of one client
INTERRUPTED = "The server ended before this method had answered; ask it again."


@dataclass(frozen=True)
class SavedRun:
    """A run's file with what its first line says. title: the client's, or the beginning of the question."""

    id: str
    file: RunFile
    head: Mapping[str, Any]
    title: str

    @property
    def question(self) -> str:
        return str(self.head["request"]["question"])

    @property
    def follows(self) -> str:
        """The id of the run that this one follows, or empty."""
        return str(self.head["request"].get("follows", ""))


class RunFolder:
    """The folder. path: where it is; it need not exist yet. most_runs, most_bytes: of one client; the oldest beyond
    them are removed.
    """

    def __init__(self, path: Path, most_runs: int = MOST_RUNS, most_bytes: int = MOST_BYTES) -> None:
        self.path, self.most_runs, self.most_bytes = path, most_runs, most_bytes
        self.processes = ProcessLocks(path)
        self.lock = threading.Lock()
        self.heads: dict[str, dict[str, Any]] = {}  # {id: first line}, which never changes
        self.running_ids: set[str] = set()  # of runs in progress in this process

    def create(
        self, client: str, request: Mapping[str, Any], asked_at: float, reading: Mapping[str, Any] | None = None
    ) -> SavedRun:
        """Make the file of a new run, which counts as running from now on. reading: what it may read, if its client may
        not read all. Raises OSError.
        """
        self.processes.hold_own()
        moment = datetime.fromtimestamp(asked_at, UTC)
        id_ = f"{moment:%Y%m%d-%H%M%S}-{moment.microsecond:06d}{token_hex(4)}"
        head = {
            "id": id_,
            "client": client,
            "process": self.processes.own_id,
            "asked_at": asked_at,
            "request": dict(request),
            **({} if reading is None else {"reading": dict(reading)}),
        }
        file = RunFile(self.path / f"{id_}.jsonl")
        self.running_ids.add(id_)
        try:
            file.create(head)
        except OSError:
            self.running_ids.discard(id_)
            raise
        return SavedRun(id_, file, head, make_title(str(request["question"])))

    def find(self, id_: str, client: str, may_read: Callable[[SavedRun], bool] = lambda run: True) -> SavedRun:
        """A client's run; one that was interrupted is closed. Raises `Refusal` (404) if the client has no such run, or
        may no longer read it.

        The call blocks.
        """
        run = self.read(id_) if RUN_ID.fullmatch(id_) else None
        if run is None or run.head["client"] != client or not may_read(run):
            raise Refusal(404, f"There is no run {id_[:40]!r}; GET /v1/runs lists them.", "run_not_found")
        with suppress(OSError, ValueError):
            self.close_if_interrupted(run)
        return run

    def read(self, id_: str) -> SavedRun | None:
        """The run with this id; None if there is none, or its file cannot be read."""
        file = RunFile(self.path / f"{id_}.jsonl")
        try:
            head = self.heads.get(id_)
            if head is None:
                head = self.heads[id_] = file.read_head()
            if not file.path.is_file():
                self.heads.pop(id_, None)
                return None
            return SavedRun(id_, file, head, self.read_title(id_) or make_title(str(head["request"]["question"])))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def get_calls_file(self, id_: str) -> RunFile:
        """The file with the model calls of a run; it need not exist."""
        return RunFile(self.path / f"{id_}.calls", CALLS_FORMAT)

    def list_ids(self) -> list[str]:
        """The ids of all runs, newest first. The call blocks."""
        with suppress(FileNotFoundError):
            names = [name.removesuffix(".jsonl") for name in os.listdir(self.path) if name.endswith(".jsonl")]
            return sorted((name for name in names if RUN_ID.fullmatch(name)), reverse=True)
        return []

    def list_runs(self, client: str) -> Iterator[SavedRun]:
        """A client's runs, newest first. The call blocks."""
        for id_ in self.list_ids():
            run = self.read(id_)
            if run is not None and run.head.get("client") == client:
                yield run

    def read_title(self, id_: str) -> str:
        """The title that a client has given to a run, or an empty text."""
        with suppress(OSError, ValueError):
            return read_regular(self.path / f"{id_}.title").decode()
        return ""

    def write_title(self, id_: str, title: str) -> None:
        """Name a run. Raises OSError. The call blocks."""
        part = self.path / f"{id_}.part"
        with open_private_text(part) as file:
            file.write(title)
        os.replace(part, self.path / f"{id_}.title")

    def delete(self, id_: str) -> None:
        """Remove a run's files. The call blocks."""
        for suffix in ("jsonl", "calls", "title", "part"):
            (self.path / f"{id_}.{suffix}").unlink(missing_ok=True)
        self.heads.pop(id_, None)

    def remove_oldest(self, client: str) -> None:
        """Remove the oldest runs of a client that are beyond the bounds. The call blocks."""
        count = size = 0
        for run in self.list_runs(client):
            with suppress(OSError):
                count, size = count + 1, size + run.file.path.stat().st_size
                with suppress(FileNotFoundError):
                    size += self.get_calls_file(run.id).path.stat().st_size
                if (count > self.most_runs or size > self.most_bytes) and run.id not in self.running_ids:
                    self.delete(run.id)

    def close_if_interrupted(self, run: SavedRun) -> None:
        """If the process that asked a run is gone, write the end of the run. Raises OSError or ValueError."""
        if run.id in self.running_ids:
            return
        last_event = run.file.read_last_event()
        if last_event is not None and last_event["type"] == "run_finished":
            return
        with self.lock, FileLock(self.path / "recovery.lock", mode=FILE_MODE):
            if run.id not in self.running_ids:
                self.close_interrupted(run)

    def close_interrupted(self, run: SavedRun) -> None:
        """See `close_if_interrupted`. The caller holds the locks, so that the end is written once."""
        run.file.remove_torn_line()
        number, asked, is_over, process_id = 0, list(run.head["request"]["methods"]), False, run.head["process"]
        for event in run.file.read_events():
            number, is_over = event["n"], event["type"] == "run_finished"
            if event["type"] == "run_started":
                asked += [method for method in event["methods"] if method not in asked]
                process_id = event.get("process", process_id)
            elif event["type"] in ("method_finished", "error"):
                asked = [method for method in asked if method != event.get("method")]
        if is_over or self.processes.is_alive(process_id):
            return
        moment = datetime.now(UTC).timestamp()
        error = {"type": "error", "code": "interrupted", "sentence": INTERRUPTED, "remedy": "retry"}
        events = [{**error, "method": method} for method in asked]
        for event in events:
            number += 1
            run.file.append({"n": number, "time": round(moment, 3), **event})
        finished = {"type": "run_finished", **summarize_file(run)}
        run.file.append({"n": number + 1, "time": round(moment, 3), **finished})


def summarize_file(run: SavedRun) -> dict[str, Any]:
    """What the events in a run's file amount to, as the event `run_finished` says it."""
    summary = summarize_answers(run, read_answers(run.file.read_events()))
    return {name: value for name, value in summary.items() if name != "answered_text"}


def summarize_answers(run: SavedRun, answers: Mapping[str, MethodAnswer]) -> dict[str, Any]:
    """What the answers of a run amount to (see `summarize_run`)."""
    results = {name: answer.result for name, answer in answers.items() if answer.result is not None}
    failures = {name: answer.error for name, answer in answers.items() if answer.error is not None}
    return summarize_run(run.head["request"]["methods"], results, failures)
