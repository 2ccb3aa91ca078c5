"""Where Quorum's own files beside a store are: its locks, caches, journal and sample."""

import os
from pathlib import Path

from quorum.core.files import expand_home

DEFAULT_FOLDER = ".quorum"


def find_own_folder(store: str) -> Path:
    """The folder of Quorum's own files for a store: the store's folder, or the default one of this machine if the store
    is a server, or another program's database.
    """
    return Path(DEFAULT_FOLDER) if "://" in store or is_foreign_folder(expand_home(store)) else Path(store)


def is_foreign_folder(folder: Path) -> bool:
    """Whether a folder is itself a database of Chroma; a store of Quorum has one in the folder `chroma` in it.

    False for a folder that may not be read.
    """
    return os.path.isfile(folder / "chroma.sqlite3") and not os.path.isdir(folder / "chroma")
