"""Lists collections and their passages, and creates the sample collection."""

from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.datasets.sample import find_sample_folder
from quorum.documents.find_files import FileChoice
from quorum.models import get_embedding_name
from quorum.retrievers.collection_names import SAMPLE, check_collection_name
from quorum.retrievers.index import IndexOptions, add_documents
from quorum.retrievers.index_report import ProgressCallback
from quorum.retrievers.store import DEFAULT_FOLDER, Store, open_store

FORMAT_VERSION = "2"  # increase it when the splitter or a passage's metadata change
READY_SAMPLES: set[tuple[str, str]] = set()


def list_collections(store: str | Path = DEFAULT_FOLDER) -> list[str]:
    """The collections of a store. Blocks."""
    return open_store(store).list_collections()


def list_passages(context: Context) -> list[Passage]:
    """All passages of the context's collection, sorted by document, and within a document by position. Blocks."""
    if check_collection_name(context.collection) == SAMPLE:
        ensure_sample(context)
    return open_store(context.store).fetch_passages(context.collection)[1]


def delete_collection(collection: str, store: str | Path = DEFAULT_FOLDER) -> None:
    """Remove a collection. Raises `SetupError` if it does not exist. Blocks."""
    opened_store = open_store(store)
    with opened_store.hold_writer_lock():
        opened_store.delete(check_collection_name(collection))


def ensure_sample(context: Context, progress: ProgressCallback | None = None) -> None:
    """Create the collection "sample" in the context's store if it is missing or made from other files or embeddings.

    Blocks, for a few seconds the first time. `progress(done, total, path)` counts files. A user's own collection
    with that name stays unchanged.
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
        options = IndexOptions(choice=FileChoice(gitignore=False), sample_hash=hash_sample())
        add_documents([get_sample_folder()], SAMPLE, context.store, context.embeddings, options, progress)
    READY_SAMPLES.add(key)


def is_outdated(store: Store, embedding: str) -> bool:
    """Whether the sample collection is missing, unfinished, or made from other files or embeddings."""
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
    digest = sha256(f"{FORMAT_VERSION}\n".encode())
    for path in sorted(get_sample_folder().glob("*.md")):
        digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
