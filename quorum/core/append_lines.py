"""Files of JSON lines that only grow: an added line is on the disk, and a killed process spoils none."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from quorum.core.files import open_regular
from quorum.core.json_text import parse_json
from quorum.core.private_files import open_private_bytes


def append_line(path: Path, line: Mapping[str, Any]) -> None:
    """Add a line and wait until it is on the disk. What a killed process has left of a line is cut off first.

    One process at a time may call it: the caller holds a lock.
    """
    with open_private_bytes(path, "ab+") as file:
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
            if file.read(1) != b"\n":
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
        file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def read_whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a file; nothing if there is no file yet."""
    try:
        with open_regular(path) as file:
            for line in file:
                if line.endswith(b"\n"):
                    value = parse_json(line)
                    if isinstance(value, dict):
                        yield value
    except FileNotFoundError:
        return
