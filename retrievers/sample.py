"""The sample collection: where it lies, and how it is made on first use."""

from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from quorum.core.context import Context
from quorum.datasets.sample import find_sample_folder
from quorum.documents.find_files import FileChoice
from quorum.models import get_embedding_name
from quorum.retrievers.collection_names import SAMPLE
from quorum.retrievers.index import IndexOptions, add_documents
from quorum.retrievers.index_report import ProgressCallback
from quorum.retrievers.store import Store, open_store

# A part of the sample's hash. Increase it when the splitter or a passage's metadata change: each store's sample
# collection is then created again. Other collections do not depend on this version.
SAMPLE_VERSION = "3"
# The pairs (store's location, name of the embeddings) for which this process has found or made the sample collection.
READY_SAMPLES: set[tuple[str, str]] = set()


def find_sample_store(store: str | Path) -> str:
    """The folder or URL of the store that holds the sample for users of `store`.

    It is a store of its own in a folder beside the collections of `store`, so that nobody's store gets a collection
    that its owner did not make. If `store` holds a collection with the name of the sample, it is `store` itself. The
    call blocks.
    """
    opened_store = open_store(store)
    return str(store) if SAMPLE in opened_store.list_collections() else str(opened_store.folder / SAMPLE)


def ensure_sample(context: Context, progress: ProgressCallback | None = None) -> None:
    """Create the collection "sample" in the context's store if it is missing, and again if it is outdated.

    The store is the one that `find_sample_store` gives.

    It is outdated if it is unfinished, or was made from other files than the sample's present ones, or with other
    embeddings than the context's. A user's own collection with the name "sample" stays unchanged. The call blocks, for
    a few seconds if it creates the collection. `progress(done, total, path)` counts files.
    """
    store, embedding = open_store(context.store), get_embedding_name(context.embeddings)
    key = (store.location, embedding)
    if key in READY_SAMPLES and not store.is_missing:
        return
    if is_outdated(store, embedding):
        with store.hold_writer_lock():
            # Check again: another process may just have made the collection.
            if is_outdated(store, embedding) and SAMPLE in store.list_collections():
                store.delete(SAMPLE)
        # An installed sample may lie in a folder that Git ignores, such as .venv.
        options = IndexOptions(
            choice=FileChoice(gitignore=False), sample_hash=hash_sample(), embedding_batch=context.embedding_batch
        )
        add_documents([get_sample_folder()], SAMPLE, context.store, context.embeddings, options, progress)
    READY_SAMPLES.add(key)


def is_outdated(store: Store, embedding: str) -> bool:
    """Whether the sample collection is missing, unfinished, or made from other files than the sample's present ones, or
    with other embeddings. False for a user's own collection with the name "sample", which stores no hash of a sample.
    """
    info = store.find_info(SAMPLE)
    if info is None:
        return True
    return info.sample_hash is not None and (info.sample_hash, info.embedding, info.is_being_changed) != (
        hash_sample(),
        embedding,
        False,
    )


def get_sample_folder() -> Path:
    """The folder of the sample's documents."""
    return find_sample_folder() / "corpus"


@lru_cache(maxsize=1)
def hash_sample() -> str:
    """A hash of the sample's documents and of how they are split."""
    digest = sha256(f"{SAMPLE_VERSION}\n".encode())
    for path in sorted(get_sample_folder().glob("*.md")):
        digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
