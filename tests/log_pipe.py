"""A named pipe in place of a log file: a test that reads it waits until a line has come."""

import json
import os
import select
from pathlib import Path
from typing import Any

PATIENCE_SECONDS = 60


class LogPipe:
    """A pipe with the name of a log file. path: to be given to the server as its log file."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path, self.unread = path, b""
        self.descriptor = os.open(path, os.O_RDWR)  # open for writing, too, so that the server need not wait

    def read(self) -> dict[str, Any]:
        """The next line."""
        while b"\n" not in self.unread:
            poll = select.poll()  # unlike select.select, it takes descriptors above 1,023
            poll.register(self.descriptor, select.POLLIN)
            assert poll.poll(1000 * PATIENCE_SECONDS), "no line has come"
            self.unread += os.read(self.descriptor, 65_536)
        line, _, self.unread = self.unread.partition(b"\n")
        fields: dict[str, Any] = json.loads(line)
        return fields

    def read_until(self, event: str = "request", **expected: Any) -> dict[str, Any]:
        """The next line of this event with these fields; those before it are skipped."""
        while True:
            line = self.read()
            if line["event"] == event and expected.items() <= line.items():
                return line

    def close(self) -> None:
        os.close(self.descriptor)
