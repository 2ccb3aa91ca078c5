"""Builds a collection's BM25 index, and caches it in memory and on the local disk until the collection changes."""

import json
import logging
import shutil
import tempfile
import threading
from collections import OrderedDict
from hashlib import sha256
from pathlib import Path

from filelock import FileLock

from quorum.core.errors import SetupError
from quorum.core.private_files import FILE_MODE, make_private_folder
from quorum.core.state import Passage
from quorum.retrievers.bm25 import BM25Index
from quorum.retrievers.store import Store
from quorum.retrievers.store_files import make_tree_private
from quorum.retrievers.store_locks import hold_lock
from quorum.retrievers.token_scores import TokenScores

FORMAT_VERSION = "2"  # increase it when tokens, parameters or files change: indexes of another format are rebuilt
INDEXES_IN_MEMORY = 8
LOG = logging.getLogger("quorum")
# (location of the store, name of the collection) -> (revision, index); the one used last is at the end.
LOADED_INDEXES: OrderedDict[tuple[str, str], tuple[str, BM25Index]] = OrderedDict()
LOADING_LOCK = threading.Lock()


def load_bm25_index(store: Store, name: str) -> BM25Index:
    """The BM25 index of the present revision of the collection `name`. It blocks: call it on a thread.

    While the collection is being changed, the index is built in memory only, because the next change makes it useless.
    """
    info = store.fetch_info(name)
    key = (store.location, name)
    with LOADING_LOCK:
        revision, index = LOADED_INDEXES.get(key, ("", None))
        if index is None or revision != info.revision:
            revision, index = (
                build_bm25_index(store, name)
                if info.is_being_changed
                else load_or_build_index(store, name, info.revision)
            )
            LOADED_INDEXES[key] = (revision, index)
        LOADED_INDEXES.move_to_end(key)
        while len(LOADED_INDEXES) > INDEXES_IN_MEMORY:
            LOADED_INDEXES.popitem(last=False)
    return index


def build_bm25_index(store: Store, name: str) -> tuple[str, BM25Index]:
    """(revision, index) built from the collection's passages."""
    revision, passages = store.fetch_passages(name)
    return revision, BM25Index(passages)


def load_or_build_index(store: Store, name: str, revision: str) -> tuple[str, BM25Index]:
    """(revision, index) from the disk. If the index is not there, it is built from the collection's present passages
    and saved; the returned revision is then that of these passages.
    """
    location_hash = sha256(f"{store.location}\n{name}".encode()).hexdigest()[:8]
    folder = store.folder / "bm25" / f"{name[:80]}-{location_hash}"
    try:
        make_private_folder(folder)
    except OSError as error:
        raise SetupError(
            f"The folder {folder} cannot be made ({error.strerror}); make the folder above it writable or give another "
            "store with --store."
        ) from None
    with hold_lock(FileLock(folder / "lock", mode=FILE_MODE)):
        index = load_index(folder / f"{revision}.{FORMAT_VERSION}")
        if index is not None:
            return revision, index
        revision, index = build_bm25_index(store, name)
        save_index(index, folder / f"{revision}.{FORMAT_VERSION}")
        return revision, index


def load_index(folder: Path) -> BM25Index | None:
    """The index in a folder; None if it is missing or incomplete."""
    try:
        lines = (folder / "passages.jsonl").read_text(encoding="utf-8").splitlines()
        passages: list[Passage] = [json.loads(line) for line in lines]
        token_scores = TokenScores.load(folder / "index")
        is_complete = token_scores.text_count == len(passages)  # a power failure may have cut either file
        return BM25Index(passages, token_scores) if is_complete else None
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None


def save_index(index: BM25Index, folder: Path) -> None:
    """Write an index to a temporary folder, remove the older indexes of the collection, and rename the temporary folder
    to `folder`.

    If this fails, for example on a full disk, the index stays in memory, and the next process builds it again.
    """
    if index.token_scores is None:  # the passages have no tokens
        return
    try:
        temporary_folder = Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
        lines = [json.dumps(passage) for passage in index.passages]
        (temporary_folder / "passages.jsonl").write_text("\n".join(lines), encoding="utf-8")
        index.token_scores.save(temporary_folder / "index")
        make_tree_private(temporary_folder)
        for path in folder.parent.iterdir():
            if path.is_dir() and path != temporary_folder:
                shutil.rmtree(path)
        temporary_folder.rename(folder)
    except OSError as error:
        LOG.warning("The BM25 index cannot be saved in %s (%s); each process builds it again.", folder.parent, error)
        for leftover in folder.parent.glob("new-*"):
            shutil.rmtree(leftover, ignore_errors=True)
