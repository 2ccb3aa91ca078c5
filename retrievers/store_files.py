"""The files in a store's folder: only their owner may read them; a store that cannot be written is read from a copy.

Chroma writes to its database even when it is only read, and makes its files readable for everybody.
"""

import atexit
import logging
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path

from quorum.core.errors import SetupError
from quorum.core.private_files import FILE_MODE, FOLDER_MODE

LOG = logging.getLogger("quorum")
# What Quorum makes in a store's folder, which may hold other files, too.
OWN_PARTS = ("chroma", "bm25", "colbert", "sample", "*.lock", "embeddings.sqlite3*", "journal.sqlite*", "rebuilding-*")
DATABASE_NAME = "chroma.sqlite3"
LOCK_SECONDS = 15.0  # how long another program may keep Chroma's database locked


def make_store_private(folder: Path) -> None:
    """Give the store's files mode 0600 and its folders 0700; the store's own folder only if it holds nothing else."""
    own_paths = {path for pattern in OWN_PARTS for path in folder.glob(pattern)}
    for path in own_paths:
        make_tree_private(path)
    if own_paths and own_paths.issuperset(folder.iterdir()):
        set_private_mode(folder)


def make_tree_private(path: Path) -> None:
    """Give a file, or a folder and everything in it, these modes."""
    set_private_mode(path)
    if path.is_dir() and not path.is_symlink():
        for parent, folders, files in os.walk(path):
            for name in (*folders, *files):
                set_private_mode(Path(parent, name))


def set_private_mode(path: Path) -> None:
    """Change the mode if it differs. Links, and files of other users, stay as they are."""
    mode = FOLDER_MODE if path.is_dir() else FILE_MODE
    with suppress(OSError):  # Chroma or another process may remove the file, or it belongs to another user
        if not path.is_symlink() and path.stat().st_mode & 0o777 != mode:
            path.chmod(mode)


def may(path: Path, mode: int) -> bool:
    """Whether this process may read, write or search a file or folder."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def is_read_only(folder: Path, chroma_folder: Path) -> bool:
    """Whether there is a store in a folder that cannot be written. Raises `SetupError` if it cannot be read either.

    chroma_folder: where the store's database is.
    """
    if not may(folder, os.F_OK) or not folder.is_dir():
        return False
    database = chroma_folder / DATABASE_NAME
    parts = [(folder, os.R_OK | os.X_OK), (chroma_folder, os.R_OK | os.X_OK), (database, os.R_OK)]
    if not all(may(path, mode) for path, mode in parts if may(path, os.F_OK)):
        raise SetupError(
            f"The store {folder} belongs to another user, and you may not read it; ask its owner, or give another "
            "folder with --store."
        )
    return may(database, os.F_OK) and not all(may(path, os.W_OK) for path, _ in parts)


def copy_store(folder: Path, chroma_folder: Path) -> Path:
    """A copy of a store that cannot be written, in a private folder that is removed at the end of this process.

    The copy has the database, from `chroma_folder`, and the sample. Raises `SetupError` if it cannot be made.
    """
    copied_folder = Path(tempfile.mkdtemp(prefix="quorum-store-"))
    atexit.register(shutil.rmtree, copied_folder, ignore_errors=True)
    try:
        for source, part in ((chroma_folder, "chroma"), (folder / "sample/chroma", "sample/chroma")):
            if source.is_dir():
                shutil.copytree(source, copied_folder / part, copy_function=shutil.copyfile)
    except OSError as error:
        raise SetupError(
            f"The store {folder} cannot be written, and its copy in {copied_folder} cannot be made "
            f"({error.strerror or error}); make room there, or make the store writable."
        ) from None
    for parent, folders, _ in os.walk(copied_folder):
        for name in folders:
            Path(parent, name).chmod(FOLDER_MODE)
    LOG.warning("The store %s cannot be written; a copy of it, in its present state, is read.", folder)
    return copied_folder


def make_read_only_error(location: str) -> SetupError:
    return SetupError(
        f"The store {location} cannot be written: it is read-only, or belongs to another user; give another folder "
        "with --store."
    )


def check_database_lock(chroma_folder: Path, seconds: float = LOCK_SECONDS) -> None:
    """Raise `SetupError` if another program keeps Chroma's database locked for `seconds` seconds, be it against readers
    or only against writers: Chroma, which also writes to read, would wait without end.
    """
    database = chroma_folder / DATABASE_NAME
    if not database.exists():
        return
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=rw", seconds, uri=True, isolation_level=None)) as check:
            check.execute("BEGIN IMMEDIATE").close()
            check.execute("ROLLBACK").close()
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise make_locked_error(str(database)) from None


def make_locked_error(database: str) -> SetupError:
    return SetupError(
        f"Another program keeps the database {database} locked; close that program (such as an SQLite browser), then "
        "try again."
    )
