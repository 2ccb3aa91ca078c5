"""Keeps the indexes that are computed from collections, in memory and in folders of the store."""

import json
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from glob import escape
from hashlib import sha256
from pathlib import Path
from typing import Generic, TypeVar

from quorum.core.errors import SetupError
from quorum.core.private_files import make_private_folder
from quorum.core.state import Passage
from quorum.retrievers.metadata import CollectionInfo
from quorum.retrievers.store import Store

T = TypeVar("T")

KINDS = ("bm25", "colbert")
HASH_LENGTH = 8
REBUILD_SECONDS = 5.0  # while a collection is being changed, its index is made anew at most this often


@dataclass
class LoadedIndex(Generic[T]):
    """An index in memory; None while it is made for the first time.

    lock: held while the index is made, by whoever makes it. begun_at, made_at: when that began and ended, by the clock
    of `LoadedIndexes`.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    revision: str = ""
    index: T | None = None
    begun_at: float = 0.0
    made_at: float = 0.0


class LoadedIndexes(Generic[T]):
    """The indexes in memory, at most `most` of them. Making one index delays only the searches that need it.

    now: the clock, in seconds. made_count: how many were made or read from the disk so far.
    """

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self.most, self.now, self.made_count = most, now, 0
        self.loaded: OrderedDict[Hashable, LoadedIndex[T]] = OrderedDict()  # the one used last is at the end
        self.lock = threading.Lock()  # of `loaded`

    def get(self, key: Hashable, info: CollectionInfo, make: Callable[[], tuple[str, T]]) -> T:
        """The index of a collection's present revision; `make` returns (revision, index) if it is not in memory.

        While the collection is being changed, it may be the index of up to REBUILD_SECONDS ago.
        """
        asked_at, entry = self.now(), self.find(key)
        with entry.lock:
            is_recent = info.is_being_changed and self.now() < entry.made_at + REBUILD_SECONDS
            # Of the searches that waited for the lock, the first makes the index for all.
            is_present = entry.revision == info.revision or entry.begun_at > asked_at
            if entry.index is None or not (is_present or is_recent):
                entry.begun_at = self.now()
                entry.revision, entry.index = make()
                entry.made_at = self.now()
                with self.lock:
                    self.made_count += 1
            return entry.index

    def find(self, key: Hashable) -> LoadedIndex[T]:
        with self.lock:
            entry = self.loaded.setdefault(key, LoadedIndex())
            self.loaded.move_to_end(key)
            while len(self.loaded) > self.most:
                self.loaded.popitem(last=False)
            return entry

    def clear(self) -> None:
        """Forget all indexes, as a new process would not have them."""
        with self.lock:
            self.loaded.clear()


def make_index_folder(store: Store, kind: str, name: str, *parts: str) -> Path:
    """The folder in the store for the indexes of one kind ("bm25") of a collection, made if it is missing.

    parts: what else the indexes depend on, such as the fingerprint of an encoder.
    """
    # The indexes of a folder move with it; those of several servers lie in one folder.
    location = store.location if store.is_remote or store.is_foreign else ""
    location_hash = sha256("\n".join([location, name, *parts]).encode()).hexdigest()[:HASH_LENGTH]
    folder = store.folder / kind / f"{name[:80]}-{location_hash}"
    try:
        make_private_folder(folder)
    except OSError as error:
        raise SetupError(
            f"The folder {folder} cannot be made ({error.strerror}); make the folder above it writable or give another "
            "store with --store."
        ) from None
    return folder


def find_index_folders_of(store_folder: Path, name: str) -> list[Path]:
    """The folders of all kinds with indexes of a collection, whatever else they depend on."""
    pattern = f"{escape(name[:80])}-{'[0-9a-f]' * HASH_LENGTH}"
    return [folder for kind in KINDS for folder in (store_folder / kind).glob(pattern)]


def replace_index_folders(temporary_folder: Path, folder: Path) -> None:
    """Remove all other indexes of a collection, and rename the temporary folder beside them to `folder`."""
    for other_folder in folder.parent.iterdir():
        if other_folder.is_dir() and other_folder != temporary_folder:
            shutil.rmtree(other_folder)
    temporary_folder.rename(folder)


def write_passages(passages: list[Passage], folder: Path) -> None:
    lines = [json.dumps(passage) for passage in passages]
    (folder / "passages.jsonl").write_text("\n".join(lines), encoding="utf-8")


def read_passages(folder: Path) -> list[Passage]:
    """The passages of an index. Raises OSError or ValueError if there are none."""
    return [json.loads(line) for line in (folder / "passages.jsonl").read_text(encoding="utf-8").splitlines()]
