"""Removes collections with all that a store's folder keeps of their texts: indexes, vectors, freed parts of a file."""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from quorum.core.errors import QuorumError
from quorum.models.model_spec import read_spec
from quorum.retrievers.chroma_rows import read_rows
from quorum.retrievers.embedding_cache import CachedEmbeddings, remove_vectors
from quorum.retrievers.foreign import is_foreign
from quorum.retrievers.index_cache import find_index_folders_of
from quorum.retrievers.metadata import read_info, read_passage
from quorum.retrievers.passages import make_indexed_text
from quorum.retrievers.store import Store

VACUUM_SECONDS = 600
# Chroma's own command, by the name under which its package declares it.
VACUUM_CODE = (
    "import sys; from importlib.metadata import entry_points; "
    "sys.argv = ['chroma', 'vacuum', '--force', '--path', sys.argv[1]]; "
    "next(iter(entry_points(group='console_scripts', name='chroma'))).load()()"
)


def delete_completely(store: Store, names: Iterable[str], foreign: bool = False) -> bool:
    """Remove collections, and everything in the store's folder that was made of their texts.

    Returns whether no text of them is left in Chroma's file: False if it cannot be compacted, because another program
    uses it, or because the store is a server or another program's database. Call this under the store's writer lock.
    Replies of models (the journal) and runs of a server are not removed.
    """
    names = list(names)
    for name in names:
        remove_cached_vectors(store, name)
        store.delete(name, foreign)
        remove_index_folders(store, name)
    return not names or compact(store)


def remove_cached_vectors(store: Store, name: str) -> None:
    """Remove the vectors of a collection's texts from the store's cache, also those of texts that others share."""
    with store.open_client():
        collection = store.fetch_collection(name)
        if is_foreign(collection):
            return
        embedding = read_info(collection).embedding
        rows = list(read_rows(collection, ["metadatas", "documents"]))
    texts = [make_indexed_text(read_passage(row["id"], row["document"], row["metadata"])) for row in rows]
    for cache_name in name_caches(embedding):
        cache = CachedEmbeddings(refuse_to_embed, cache_name, store.folder)
        remove_vectors(cache.file, [cache.make_key(text) for text in texts])


def name_caches(embedding: str) -> list[str]:
    """The names under which the cache may hold vectors of a collection's embeddings (see `get_indexing_embedder`)."""
    try:
        base_url = read_spec(embedding, "embeddings").base_url
    except QuorumError:
        base_url = None
    return [embedding] + ([] if base_url is None else [f"{embedding}\0{base_url}"])


def refuse_to_embed() -> "CachedEmbeddings":
    raise QuorumError("A cache that is only emptied embeds nothing.")


def remove_index_folders(store: Store, name: str) -> None:
    """Remove the indexes with a collection's passages (BM25, ColBERT); they are made anew if anything still asks it."""
    for folder in find_index_folders_of(store.folder, name):
        shutil.rmtree(folder, ignore_errors=True)


def compact(store: Store) -> bool:
    """Let Chroma rewrite its file without what was removed. Returns whether that was done."""
    if store.is_remote or store.is_foreign:
        return False
    with store.open_client():
        client: Any = store.get_client()
        client.close()
        store.client, store.read_revisions, store.undamaged_names = None, {}, set()
        return run_vacuum(store.chroma_folder)


def run_vacuum(chroma_folder: Path) -> bool:
    """Run `chroma vacuum` on a database. Returns whether it succeeded."""
    command = [sys.executable, "-c", VACUUM_CODE, str(chroma_folder)]
    try:
        run = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=VACUUM_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return run.returncode == 0 and b"complete" in run.stdout
