"""Creates files and folders that only their owner may read, because they hold questions, answers and documents.

An existing file or folder keeps its permissions. On Windows the modes have no effect.
"""

import os
from pathlib import Path
from typing import BinaryIO, TextIO, cast

FILE_MODE, FOLDER_MODE = 0o600, 0o700


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, with mode 0700."""
    missing = []
    for path in (folder, *folder.parents):
        if path.exists():
            break
        missing.append(path)
    for path in reversed(missing):
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    folder.mkdir(exist_ok=True)  # FileExistsError if a file has that name


def open_with_private_mode(path: str, flags: int) -> int:
    """Open a file for `open(..., opener=open_with_private_mode)`. A new file gets mode 0600."""
    return os.open(path, flags, FILE_MODE)


def make_private_file(path: Path) -> None:
    """Make an empty file with mode 0600, unless the file exists."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE))


def open_private_text(path: Path, mode: str = "w", newline: str | None = None) -> TextIO:
    """Open a file for UTF-8 text. Characters that cannot be encoded are replaced. A new file gets mode 0600."""
    return cast(
        TextIO, open(path, mode, encoding="utf-8", errors="replace", newline=newline, opener=open_with_private_mode)
    )


def open_private_bytes(path: Path, mode: str) -> BinaryIO:
    """Open a file for bytes. A new file gets mode 0600."""
    return cast(BinaryIO, open(path, mode, opener=open_with_private_mode))
