"""Removes collections with all that a store's folder keeps of their texts: indexes, vectors, freed parts of a file."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from quorum.core.errors import QuorumError
from quorum.documents.document import remove_unstorable
from quorum.models.model_spec import read_spec
from quorum.retrievers.chroma_rows import read_rows
from quorum.retrievers.embedding_cache import CachedEmbeddings, remove_vectors
from quorum.retrievers.foreign import is_foreign
from quorum.retrievers.index_cache import find_index_folders_of
from quorum.retrievers.metadata import read_info, read_passage
from quorum.retrievers.passages import make_indexed_text
from quorum.retrievers.store import Store

VACUUM_SECONDS = 40  # others wait so long for the store, and then give up
LEFTOVERS = "Freed parts of Chroma's file may still hold the removed texts"
# Chroma's own command, by the name under which its package declares it.
VACUUM_CODE = (
    "import sys; from importlib.metadata import entry_points; "
    "sys.argv = ['chroma', 'vacuum', '--force', '--path', sys.argv[1]]; "
    "next(iter(entry_points(group='console_scripts', name='chroma'))).load()()"
)


def delete_completely(
    store: Store, names: Iterable[str], foreign: bool = False, on_deleted: Callable[[str], object] = id
) -> str:
    """Remove collections, and everything in the store's folder that was made of their texts.

    Returns an empty text if nothing of them is left in Chroma's file. If its freed parts may still hold them, because
    `chroma vacuum` failed, or because the store is a server or another program's database, returns a sentence that says
    so; the collections are removed all the same. Raises `SetupError`, before any is removed, if one does not exist, or
    another program made it and `foreign` is false. on_deleted: called with the name of each that was removed. Call this
    under the store's writer lock. Replies of models (the journal) and runs of a server are not removed.
    """
    names = list(dict.fromkeys(names))
    for name in names:
        store.check_may_delete(name, foreign)
    for name in names:
        remove_cached_vectors(store, name)
        store.delete(name, foreign)
        remove_index_folders(store, name)
        on_deleted(name)
    return compact(store) if names else ""


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


def compact(store: Store) -> str:
    """Let Chroma rewrite its file without what was removed. Returns why it did not, or an empty text."""
    if store.is_remote:
        return f"{LEFTOVERS}; the owner of the server {store.location} removes them with `chroma vacuum`."
    command = f"`chroma vacuum --path {store.chroma_folder}`"
    if store.is_foreign:
        return f"{LEFTOVERS}, since another program's database is not rewritten; {command} removes them."
    with store.open_client():
        client: Any = store.get_client()
        client.close()
        store.client, store.read_revisions, store.undamaged_names = None, {}, set()
        reason = run_vacuum(store.chroma_folder)
    if not reason:
        return ""
    return f"{LEFTOVERS}, since {command} failed ({reason}); run it when no other program uses the store."


def run_vacuum(chroma_folder: Path) -> str:
    """Run `chroma vacuum` on a database. Returns why it failed, or an empty text."""
    command = [sys.executable, "-c", VACUUM_CODE, str(chroma_folder)]
    # Modules come from where this process finds them, never from the current folder, which may hold anything.
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONSAFEPATH": "1"}
    try:
        run = subprocess.run(
            command,
            env={**os.environ, **paths},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VACUUM_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"not finished after {VACUUM_SECONDS} s"
    except OSError as error:
        return str(error.strerror)
    if run.returncode == 0 and b"complete" in run.stdout:
        return ""
    lines = remove_unstorable(run.stderr.decode("utf-8", "replace")).splitlines()
    said = [line.strip() for line in lines if line.strip()]
    return said[-1][:200].rstrip(".") if said else f"exit code {run.returncode}"
