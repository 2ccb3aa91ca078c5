"""The file of the request log, which other programs may rotate, or the standard output."""

import json
import os
import queue
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quorum.core.errors import SetupError
from quorum.core.files import expand_home
from quorum.core.private_files import FILE_MODE

STANDARD_OUTPUT = "-"
MOST_WAITING = 10_000  # lines; a disk that hangs stops no answer
CLOSE_SECONDS = 5.0


class LogFile:
    """Appends lines of JSON. A thread of its own writes them, so that no answer waits for the disk.

    If the file is renamed or removed, as logrotate does, the next line goes into a new one. Each line is written at
    once and whole, so that several servers may write to one file. If a line cannot be written, or too many wait, it is
    lost: the terminal says so once, and the next line that can be written says how many were lost.
    """

    def __init__(self, target: str) -> None:
        """target: the file, or "-" for the standard output. Raises `SetupError` if it cannot be opened."""
        self.path = None if target == STANDARD_OUTPUT else expand_home(target)
        self.is_torn = self.has_warned = False
        self.lost = 0
        try:
            self.descriptor = self.open()
        except OSError as error:
            raise SetupError(
                f"The log file {target} cannot be opened ({error.strerror or error}); give --log-file a file in a "
                "folder that exists and that you may write to, or - for the standard output."
            ) from None
        self.lines: queue.Queue[str | None] = queue.Queue(MOST_WAITING)
        self.thread = threading.Thread(target=self.write_all, name="quorum-log", daemon=True)
        self.thread.start()

    def open(self) -> int:
        """Open the file to append. A line that a crash has cut stays alone: the next one begins a new line."""
        if self.path is None:
            return sys.stdout.fileno()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags, FILE_MODE)
        self.is_torn = self.path.is_file() and is_cut(self.path)
        return descriptor

    def write(self, fields: Mapping[str, Any]) -> None:
        """Have a line written."""
        try:
            self.lines.put_nowait(json.dumps(fields, ensure_ascii=False))
        except queue.Full:
            self.lost += 1

    def close(self) -> None:
        """Write what waits, for CLOSE_SECONDS at most. No line may follow."""
        with suppress(queue.Full):
            self.lines.put(None, timeout=CLOSE_SECONDS)
            self.thread.join(CLOSE_SECONDS)

    def write_all(self) -> None:
        while (line := self.lines.get()) is not None:
            try:
                self.reopen_if_moved()
                if self.lost:
                    self.append(describe_loss(self.lost))
                    self.lost = 0
                self.append(line)
            except OSError as error:
                self.lost += 1
                self.warn(error)
            self.lines.task_done()

    def reopen_if_moved(self) -> None:
        """Open the file anew if another one, or none, has its name now."""
        if self.path is None:
            return
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(self.path), os.fstat(self.descriptor)):
                return
        descriptor = self.open()
        os.close(self.descriptor)
        self.descriptor = descriptor

    def append(self, line: str) -> None:
        data = ("\n" * self.is_torn + line + "\n").encode("utf-8", "replace")
        self.is_torn = False
        while data:
            written = os.write(self.descriptor, data)
            data = data[written:]
            self.is_torn = bool(data)

    def warn(self, error: OSError) -> None:
        if not self.has_warned:
            self.has_warned = True
            target = "the standard output" if self.path is None else self.path
            reason = error.strerror or error
            print(
                f"quorum: requests are answered, but not logged: {target} cannot be written ({reason}).",
                file=sys.stderr,
            )


def is_cut(path: Path) -> bool:
    """Whether a file's last line has no end."""
    with suppress(OSError), path.open("rb") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
    return False


def describe_loss(count: int) -> str:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": now, "event": "lines_lost", "lines": count})
