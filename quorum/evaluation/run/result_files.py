"""Writes the files of an evaluation so that none is lost or half-written."""

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from quorum.core.errors import SetupError
from quorum.core.private_files import open_private_text


def repair_and_read_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the complete lines of a file that is open for reading and writing. If a killed process left the last line
    incomplete, remove this line from the file.
    """
    complete_lines_size = 0
    file.seek(0)
    for line in file:
        if not line.endswith(b"\n"):
            break
        complete_lines_size += len(line)
        yield line
    file.truncate(complete_lines_size)


def check_folder(folder: Path) -> None:
    """Raises `SetupError`, before anything is asked, if results cannot be written to the folder, which need not exist:
    it or a folder above it is a file, or may not be written.
    """
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise make_folder_error(folder, os.strerror(errno.EEXIST if existing == folder.absolute() else errno.ENOTDIR))
    if not os.access(existing, os.W_OK | os.X_OK):
        raise make_folder_error(folder, os.strerror(errno.EACCES))


def make_folder_error(folder: Path, reason: str | None) -> SetupError:
    return SetupError(f"Results cannot be written to {folder} ({reason}); give another folder with --out.")


@contextmanager
def explain_write_errors(path: Path) -> Iterator[None]:
    """Raises `SetupError` if the block cannot write to `path`, for example because the disk is full. What was written
    to the file before stays there.
    """
    try:
        yield
    except OSError as error:
        raise SetupError(
            f"{path} cannot be written ({error.strerror or error}); make room if the disk is full, then run the same "
            "command again: it continues where it stopped."
        ) from None


def write_json(path: Path, value: Any) -> None:
    """Write a whole file at once: no reader sees it half-written."""
    if path.is_dir():
        raise SetupError(f"{path} is a folder; give the name of a file in it.")
    draft = path.with_name(path.name + ".tmp")
    with explain_write_errors(path):
        with open_private_text(draft) as file:
            file.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
            file.flush()
            os.fsync(file.fileno())  # else a loss of power could leave an empty file at `path`
        os.replace(draft, path)
