"""Finding the files to index."""

import os
from collections.abc import Iterable
from pathlib import Path

from quorum.core.errors import SetupError

Skipped = tuple[str, str]


def absolute(path: str | Path) -> Path:
    """The path as it is kept with passages: absolute, links resolved."""
    return Path(path).expanduser().resolve()


def find_files(roots: Iterable[Path], without: Path | None = None) -> tuple[list[Path], list[Skipped]]:
    """(files, what is skipped and why): files as given, folders with all below them but hidden ones, in order.

    `without` is a folder to leave out: the store itself. A file is listed once however often it is reached.
    """
    files: dict[Path, None] = {}
    skipped: list[Skipped] = []
    for root in roots:
        found = walk(root, without, skipped) if root.is_dir() else [root]
        for path in found:
            if path.is_file():
                files.setdefault(absolute(path))
            else:
                skipped.append((str(path), "a broken link" if path.is_symlink() else "not a regular file"))
    return list(files), skipped


def walk(root: Path, without: Path | None, skipped: list[Skipped]) -> list[Path]:
    """The files under a folder, sorted; folders that cannot be read are skipped with their reason."""

    def refused(error: OSError) -> None:
        skipped.append((str(error.filename), error.strerror or "cannot be read"))

    found: list[Path] = []
    for folder, folders, names in os.walk(root, onerror=refused):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if not name.startswith(".") and here / name != without)
        found += [here / name for name in names if not name.startswith(".")]
    return sorted(found)


def roots_of(paths: Iterable[str | Path]) -> list[Path]:
    """The given paths, made absolute; at least one."""
    roots = [absolute(path) for path in paths]
    if not roots:
        raise SetupError("There is nothing to index; give files or folders.")
    return roots


def lies_in(source: str, roots: Iterable[Path]) -> bool:
    """Whether a source is one of these files, or lies in one of these folders."""
    path = Path(source)
    return any(path == root or root in path.parents for root in roots)
