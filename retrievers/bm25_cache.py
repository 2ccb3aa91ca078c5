"""Builds a collection's BM25 index, and caches it in memory and on the local disk until the collection changes."""

import logging
import shutil
import tempfile
from functools import partial
from pathlib import Path

from filelock import FileLock

from quorum.core.private_files import FILE_MODE
from quorum.retrievers.bm25 import ENGLISH, BM25Index, load_scores, save_scores
from quorum.retrievers.index_cache import (
    LoadedIndexes,
    make_index_folder,
    read_passages,
    replace_index_folders,
    write_passages,
)
from quorum.retrievers.store import Store
from quorum.retrievers.store_files import make_tree_private
from quorum.retrievers.store_locks import hold_lock

FORMAT_VERSION = "3"  # increase it when tokens, parameters or files change: indexes of another format are rebuilt
LOG = logging.getLogger("quorum")
LOADED_INDEXES: LoadedIndexes[BM25Index] = LoadedIndexes(most=8)


def load_bm25_index(store: Store, name: str, title_key: str | None = None, language: str = ENGLISH) -> BM25Index:
    """The BM25 index of the collection `name` (see `LoadedIndexes`). It blocks: call it on a thread.

    title_key: see `quorum.retrievers.foreign.read_foreign_passage`. language: whose stems are used.

    While the collection is being changed, the index is built in memory only, because the next change makes it useless.
    """
    info = store.fetch_revised_info(name)
    make = (
        partial(build_bm25_index, store, name, title_key, language)
        if info.is_being_changed
        else partial(load_or_build_index, store, name, info.revision, title_key, language)
    )
    return LOADED_INDEXES.get((store.location, name, title_key, language), info, make)


def build_bm25_index(store: Store, name: str, title_key: str | None, language: str) -> tuple[str, BM25Index]:
    """(revision, index) built from the collection's passages."""
    revision, passages = store.fetch_passages(name, title_key)
    return revision, BM25Index(passages, language=language)


def load_or_build_index(
    store: Store, name: str, revision: str, title_key: str | None, language: str
) -> tuple[str, BM25Index]:
    """(revision, index) from the disk. If the index is not there, it is built from the collection's present passages
    and saved; the returned revision is then that of these passages.
    """
    others = [*([title_key] if title_key else []), *([f"language {language}"] if language != ENGLISH else [])]
    folder = make_index_folder(store, "bm25", name, *others)
    with hold_lock(FileLock(folder / "lock", mode=FILE_MODE)):
        index = load_index(folder / f"{revision}.{FORMAT_VERSION}", language)
        if index is None:
            revision, index = build_bm25_index(store, name, title_key, language)
            save_index(index, folder / f"{revision}.{FORMAT_VERSION}")
        return revision, index


def load_index(folder: Path, language: str) -> BM25Index | None:
    """The index in a folder; None if it is missing or incomplete."""
    try:
        passages = read_passages(folder)
        return BM25Index(passages, load_scores(folder / "index", len(passages)), language)
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None


def save_index(index: BM25Index, folder: Path) -> None:
    """Write an index to a temporary folder, which then takes the place of the older indexes of the collection.

    If this fails, for example on a full disk, the index stays in memory, and the next process builds it again.
    """
    if index.scores is None:  # the passages have no tokens
        return
    try:
        temporary_folder = Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
        write_passages(list(index.passages), temporary_folder)
        save_scores(index.scores, temporary_folder / "index")
        make_tree_private(temporary_folder)
        replace_index_folders(temporary_folder, folder)
    except OSError as error:
        LOG.warning("The BM25 index cannot be saved in %s (%s); each process builds it again.", folder.parent, error)
        for leftover in folder.parent.glob("new-*"):
            shutil.rmtree(leftover, ignore_errors=True)
