"""The file of one run: a line that describes it, then a line of JSON for every event, in the order of their numbers.

The file only grows. A line is written at once and before anybody is told of its event, so that a client never knows an
event that the file lacks, whenever the process is killed. What a killed process has left of a last line is removed.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorum.core.files import open_regular
from quorum.core.json_text import parse_json
from quorum.core.private_files import make_private_folder, open_private_bytes

FORMAT_NAME = "quorum run 1"
CHUNK_SIZE = 262_144  # bytes that are read at once
TAIL_SIZE = 4096  # bytes at the end of a file, in which its last line is looked for first


@dataclass
class RunFile:
    """A run's file, or that of something else with numbered events. path: where it is; format_name: what its first line
    says that it is.
    """

    path: Path
    format_name: str = FORMAT_NAME

    def create(self, head: Mapping[str, Any]) -> None:
        """Make the file with its first line. Raises OSError."""
        make_private_folder(self.path.parent)
        with open_private_bytes(self.path, "xb") as file:
            file.write(format_line({"format": self.format_name, **head}))

    def append(self, event: Mapping[str, Any]) -> int:
        """Write an event, and return the size of its line in bytes. Raises OSError if it could not be written whole.

        A deleted file is not made anew.
        """
        line = format_line(event)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        try:
            if os.write(descriptor, line) != len(line):
                raise OSError("the disk is full")
        finally:
            os.close(descriptor)
        return len(line)

    def read_head(self) -> dict[str, Any]:
        """What the first line says. Raises OSError or ValueError for a file that is no run's."""
        with open_regular(self.path) as file:
            head = parse_json(file.readline(CHUNK_SIZE * 8))
        if not isinstance(head, dict) or head.get("format") != self.format_name:
            raise ValueError("it is not a file of this kind")
        return head

    def read_lines(self, offset: int) -> tuple[list[bytes], int]:
        """Whole lines from an offset on, about CHUNK_SIZE bytes of them, and the offset of the next line. Raises
        OSError.
        """
        with open_regular(self.path) as file:
            file.seek(offset)
            chunk = file.read(CHUNK_SIZE)
            if b"\n" not in chunk:
                chunk += file.readline()
        end = chunk.rfind(b"\n") + 1
        return chunk[:end].splitlines(), offset + end

    def read_events(self) -> Iterator[dict[str, Any]]:
        """All events. Raises OSError or ValueError."""
        offset, is_head = 0, True
        while True:
            lines, offset = self.read_lines(offset)
            if not lines:
                return
            yield from map(parse_json, lines[1:] if is_head else lines)
            is_head = False

    def read_last_event(self) -> dict[str, Any] | None:
        """The last whole event; None if there is none. Raises OSError or ValueError."""
        with open_regular(self.path) as file:
            end = file.seek(0, os.SEEK_END)
            last_lines: list[bytes] = []
            for size in (TAIL_SIZE * 16**power for power in range(10)):
                file.seek(max(0, end - size))
                last_lines = file.read().split(b"\n")[:-1]  # what follows the last line break is no whole line
                if len(last_lines) > 1 or size >= end:
                    break
        event = parse_json(last_lines[-1]) if last_lines else None
        return event if isinstance(event, dict) and "n" in event else None

    def remove_torn_line(self) -> None:
        """Cut off what a killed process has left of a last line. Raises OSError."""
        with open(self.path, "r+b") as file:
            end = file.seek(0, os.SEEK_END)
            while end:
                start = max(0, end - TAIL_SIZE)
                file.seek(start)
                position = file.read(end - start).rfind(b"\n")
                if position >= 0:
                    file.truncate(start + position + 1)
                    return
                end = start


def format_line(value: Mapping[str, Any]) -> bytes:
    """A JSON object on one line. Line separators of Unicode are escaped, too, so that no reader splits it."""
    text = json.dumps(value, ensure_ascii=False).replace("\x85", "\\u0085")
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").encode() + b"\n"
