"""An upload in progress: its files, and its events on their way into a file and to those who read it."""

import asyncio
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from quorum.serving.runs.run_file import RunFile

SECONDS_BETWEEN_PROGRESS = 0.25  # of one upload; what ends a file is always told
Outcome = Literal["indexed", "not_read", "cancelled", "interrupted"]


@dataclass
class UploadedFile:
    """A file of an upload.

    number: from 1, in the order in which they came; path: its safe path below the folder of the collection's uploads;
    size: in bytes, as far as they have come. outcome: what became of it, None as long as nothing has.
    """

    number: int
    path: str
    size: int = 0
    passages: int = 0
    outcome: Outcome | None = None

    def describe(self) -> dict[str, Any]:
        return {"file": self.number, "path": self.path}


@dataclass
class LiveUpload:
    """An upload in progress. It is written by one thread after the other: the server's, then that which indexes.

    id: of the upload; file: of its events; folder: of its files, before they are indexed; staged: of the files whose
    bytes have all come, the others were refused. is_in_place: the files are in their
    places already and are indexed anew. is_cancelled: the client wants no more of it; is_stopping: the server
    ends.
    """

    id: str
    collection: str
    file: RunFile
    folder: Path
    loop: asyncio.AbstractEventLoop
    files: list[UploadedFile] = field(default_factory=list)
    number: int = 0
    is_in_place: bool = False
    is_cancelled: bool = False
    is_stopping: bool = False
    is_over: bool = False
    last_progress: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)
    changed: asyncio.Event = field(default_factory=asyncio.Event)  # set at the next event; every event has a new one
    ended: threading.Event = field(default_factory=threading.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)  # wakes who waits for the client's next bytes

    def cancel(self) -> None:
        self.is_cancelled = True
        self.cancelled.set()

    @property
    def must_end(self) -> bool:
        return self.is_cancelled or self.is_stopping

    def write(self, type_: str, **fields: Any) -> None:
        """Write an event, then tell the readers. If it cannot be written, the upload ends."""
        with self.lock:
            try:
                self.file.append({"n": self.number + 1, "time": round(time.time(), 3), "type": type_, **fields})
                self.number += 1
            except OSError:
                self.is_cancelled = True
        with suppress(RuntimeError):  # the server has ended
            self.loop.call_soon_threadsafe(self.tell)

    def tell(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def write_progress(self, type_: str, **fields: Any) -> None:
        """Write how far something has come, unless that was told a moment ago."""
        now = time.monotonic()
        if now - self.last_progress >= SECONDS_BETWEEN_PROGRESS:
            self.last_progress = now
            self.write(type_, **fields)

    def tell_outcome(self, file: UploadedFile, fields: Mapping[str, Any]) -> None:
        """Write what became of a file."""
        file.outcome = fields["outcome"]
        self.write("file_finished", **fields)

    def end_file(self, file: UploadedFile, outcome: Outcome, **fields: Any) -> None:
        """Write what became of a file of which that was not told yet."""
        if file.outcome is None:
            self.tell_outcome(file, {**file.describe(), "outcome": outcome, **fields})

    def end(self, state: str, sentence: str = "") -> None:
        """Write the end. state: "finished", "cancelled", "interrupted" or "failed"; sentence: why it failed."""
        counts = count_outcomes([file.outcome for file in self.files])
        more: Mapping[str, Any] = {"sentence": sentence} if sentence else {}
        self.is_over = True
        self.write("upload_finished", state=state, **counts, **more)


def count_outcomes(outcomes: list[Any]) -> dict[str, int]:
    """How many files were indexed and how many were not.

    >>> count_outcomes(["indexed", "not_read", None])
    {'indexed': 1, 'not_indexed': 2}
    """
    indexed = sum(outcome == "indexed" for outcome in outcomes)
    return {"indexed": indexed, "not_indexed": len(outcomes) - indexed}
