"""Reads and writes collections of a Chroma store: a folder, or a server at http://host:port.

Each process has one client per store.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from quorum.core.errors import SetupError
from quorum.core.files import expand_home
from quorum.core.forks import PerProcess
from quorum.core.private_files import FILE_MODE, make_private_folder
from quorum.core.state import Passage
from quorum.retrievers.chroma_client import explain_failures, make_damaged_index_error, make_folder, open_chroma_client
from quorum.retrievers.chroma_rows import Changes, list_all_collections, list_collection_names, read_rows
from quorum.retrievers.index_recovery import (
    has_incomplete_files,
    is_index_damaged,
    keep_write_mark,
    remove_index,
    write_pending_vectors,
)
from quorum.retrievers.metadata import CollectionInfo, PassageEntry, find_maker, read_entry, read_info, read_passage
from quorum.retrievers.passages import copy_with_score
from quorum.retrievers.store_files import check_database_lock, copy_store, is_read_only, make_read_only_error
from quorum.retrievers.store_locks import hold_access_lock, hold_writer_lock

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

DEFAULT_FOLDER = ".quorum"
# Accuracy is more important than speed here; a query still takes only milliseconds.
HNSW_SETTINGS = {"ef_construction": 200, "ef_search": 200, "max_neighbors": 32}
SPACE_OF_SIMILARITY = {"cosine": "cosine", "dot": "ip"}  # our name of a similarity -> Chroma's name


def open_store(path: str | Path) -> "Store":
    """The store in a folder or at a URL. A later call with the same folder or URL returns the same object."""
    text = str(path).strip()
    if not text:
        raise SetupError("The store's name is empty; give a folder such as .quorum, or http://host:8000.")
    stores = OPEN_STORES.get()
    with stores.lock:
        return stores.get(text if "://" in text else str(expand_home(text).resolve()))


class Store:
    """Access to one Chroma store. Every method blocks: call it on a thread.

    Chroma fails if one process reads a folder while another writes to it. So every operation on a folder takes a lock
    that all processes share, and the client is opened again if a collection has changed since it was read.
    """

    def __init__(self, path: str) -> None:
        self.location = path
        self.is_remote = "://" in path
        # The folder of the locks and caches. A store on a server keeps them in the default folder of this machine.
        self.folder = Path(DEFAULT_FOLDER).resolve() if self.is_remote else Path(path)
        self.is_read_only = not self.is_remote and is_read_only(self.folder)
        if self.is_read_only:
            self.folder = copy_store(self.folder)
        self.client: ClientAPI | None = None
        self.read_revisions: dict[str, str] = {}  # collection -> its revision when this client read it
        # (collection, name of embeddings): the collection was made with these embeddings
        self.checked_embeddings: set[tuple[str, str]] = set()
        self.undamaged_names: set[str] = set()  # collections whose vector index this client has found undamaged
        # `mutex` keeps out other threads of this process, `access_lock` other processes.
        self.mutex = threading.RLock()
        self.access_lock = FileLock(self.folder / "access.lock", mode=FILE_MODE, poll_interval=0.005)

    @property
    def is_missing(self) -> bool:
        return not self.is_remote and not (self.folder / "chroma").exists()

    @contextmanager
    def open_client(self) -> Iterator["ClientAPI"]:
        """Yield the client. For a folder, the lock is held until the block ends: do only one short operation in it."""
        with explain_failures(self.location):
            if self.is_remote:
                yield self.get_client()
                return
            make_folder(self.folder)
            with self.mutex, hold_access_lock(self.access_lock, self.location):
                check_database_lock(self.folder / "chroma")
                yield self.get_client()

    def get_client(self) -> "ClientAPI":
        with self.mutex:
            if self.client is None:
                if not self.is_remote:
                    make_private_folder(self.folder / "chroma")
                self.client = open_chroma_client(self.location if self.is_remote else str(self.folder / "chroma"))
            return self.client

    def fetch_current_collection(self, name: str) -> "Collection":
        """The collection, as `fetch_undamaged_collection` returns it. If it has changed since this client read it, the
        client is opened again first. Call this only inside `open_client`.
        """
        collection = self.fetch_undamaged_collection(name)
        info = read_info(collection)
        if not self.is_remote and self.read_revisions.setdefault(name, info.revision) != info.revision:
            client: Any = self.get_client()
            client.close()
            self.client, self.read_revisions, self.undamaged_names = None, {name: info.revision}, set()
            collection = self.fetch_undamaged_collection(name)
        return collection

    def fetch_collection(self, name: str) -> "Collection":
        from chromadb.errors import NotFoundError

        try:
            return self.get_client().get_collection(name, embedding_function=None)
        except NotFoundError:
            raise make_unknown_collection_error(name, self.location, list_collection_names(self.get_client())) from None

    def fetch_undamaged_collection(self, name: str) -> "Collection":
        """The collection. Raises `SetupError` if files of its vector index are half written or truncated.

        Vectors that a killed process left in the database are first written to the index. A store on a server is not
        checked. Call this only inside `open_client`.
        """
        collection = self.fetch_collection(name)
        if not self.is_remote and name not in self.undamaged_names:
            if has_incomplete_files(collection, self.folder / "chroma"):
                raise make_damaged_index_error(
                    self.location, f"the index of the collection {name!r}: its last write did not finish"
                )
            write_pending_vectors(collection, self.folder / "chroma")
            self.undamaged_names.add(name)
        return collection

    @contextmanager
    def hold_writer_lock(self) -> Iterator[None]:
        """Hold the writer lock: only one process of this machine at a time may change the store. Afterwards only the
        store's owner may read its files.

        Raises `SetupError` if another process holds it for ten minutes, and for a store that cannot be written.
        """
        if self.is_read_only:
            raise make_read_only_error(self.location)
        make_folder(self.folder)
        with hold_writer_lock(self.folder, self.location):
            yield

    def list_collections(self) -> list[str]:
        """The names of the collections in alphabetical order."""
        if self.is_missing:
            return []
        with self.open_client() as client:
            return list_collection_names(client)

    def list_makers(self) -> dict[str, str | None]:
        """The name of each collection -> who made it (see `find_maker`)."""
        if self.is_missing:
            return {}
        with self.open_client() as client:
            return {item.name: find_maker(item.metadata or {}) for item in list_all_collections(client)}

    def fetch_info(self, name: str) -> CollectionInfo:
        """The metadata of a collection. For an unknown one, raises a `SetupError` that lists the collections."""
        if self.is_missing:
            raise make_unknown_collection_error(name, self.location, [])
        with self.open_client():
            return read_info(self.fetch_collection(name))

    def find_info(self, name: str) -> CollectionInfo | None:
        """Like `fetch_info`, but None for an unknown collection."""
        return self.fetch_info(name) if name in self.list_collections() else None

    def check_embedding(self, name: str, embedding: str) -> None:
        """Raise `SetupError` if the collection was made with other embeddings than those named `embedding`.

        A collection that passes is not checked again here. `query` checks each time, because another process may have
        made the collection anew.
        """
        if (name, embedding) not in self.checked_embeddings:
            check_embedding_name(name, self.fetch_info(name), embedding)
            self.checked_embeddings.add((name, embedding))

    def query(self, name: str, vector: Sequence[float], k: int, embedding: str | None = None) -> list[Passage]:
        """The k passages nearest to a vector, or all if there are fewer. A passage's score is its cosine with the
        vector, or the inner product if the collection was created with the similarity "dot".

        embedding: the name of the embeddings that made the vector. If the collection was made with other embeddings,
        a `SetupError` is raised.
        """
        vectors: list[Any] = [list(vector)]
        with self.open_client():
            collection = self.fetch_current_collection(name)
            info = read_info(collection)
            dimension = info.dimension
            if embedding is not None:
                check_embedding_name(name, info, embedding)
            if info.is_rebuilding_vectors:
                raise SetupError(
                    f"The vectors of the collection {name!r} are being computed again; wait until that is done, "
                    "or index into the collection again."
                )
            if len(vector) != dimension:
                raise SetupError(
                    f"The collection {name!r} holds vectors of {dimension} numbers, but the question's vector "
                    f"has {len(vector)}; the embeddings have changed: index the documents into a new collection."
                )
            matches: Any = collection.query(
                query_embeddings=vectors, n_results=k, include=["documents", "metadatas", "distances"]
            )
        rows = zip(*(matches[part][0] for part in ("ids", "documents", "metadatas", "distances")), strict=True)
        return [
            copy_with_score(read_passage(id_, text, metadata), 1 - distance) for id_, text, metadata, distance in rows
        ]

    def fetch_passages(self, name: str) -> tuple[str, list[Passage]]:
        """(revision, all passages). The passages are sorted by document, and within a document by position."""
        with self.open_client():
            collection = self.fetch_undamaged_collection(name)
            revision, rows = read_info(collection).revision, list(read_rows(collection, ["metadatas", "documents"]))
        # By the first document (in alphabetical order) that holds the passage, and the passage's number in it.
        rows.sort(key=lambda row: (*min(json.loads(row["metadata"]["places"]).items(), default=("", 0)), row["id"]))
        return revision, [read_passage(row["id"], row["document"], row["metadata"]) for row in rows]

    def fetch_passages_by_id(self, name: str, ids: list[str]) -> list[Passage]:
        """The stored passages with these ids, in no particular order. Ids that are not stored are left out."""
        with self.open_client():
            stored_rows: Any = self.fetch_undamaged_collection(name).get(ids=ids, include=["metadatas", "documents"])
        rows = zip(stored_rows["ids"], stored_rows["documents"], stored_rows["metadatas"], strict=True)
        return [read_passage(id_, text, metadata) for id_, text, metadata in rows]

    def fetch_entries(self, name: str) -> dict[str, PassageEntry]:
        """The id of each passage -> its metadata. The texts are not read."""
        with self.open_client():
            rows = list(read_rows(self.fetch_undamaged_collection(name), ["metadatas"]))
        return {row["id"]: read_entry(row["metadata"]) for row in rows}

    def count_passages(self, name: str) -> int:
        with self.open_client():
            return int(self.fetch_undamaged_collection(name).count())

    def create(self, name: str, info: CollectionInfo, similarity: str = "cosine") -> None:
        """Create an empty collection. Its passages are ranked by "cosine" or by "dot", the inner product."""
        configuration: Any = {"hnsw": HNSW_SETTINGS | {"space": SPACE_OF_SIMILARITY[similarity]}}
        with self.open_client() as client:
            client.create_collection(
                name, metadata=info.make_metadata(), configuration=configuration, embedding_function=None
            )
            self.read_revisions[name] = info.revision

    def write(self, name: str, info: CollectionInfo, changes: Changes | None = None) -> None:
        """Store `info` as the collection's metadata, and apply the changes to the collection."""
        with self.open_client():
            collection = self.fetch_current_collection(name)
            collection.modify(metadata=info.make_metadata())
            self.read_revisions[name] = info.revision
            if changes:
                with nullcontext() if self.is_remote else keep_write_mark(collection, self.folder / "chroma"):
                    changes.apply(collection)

    def has_damaged_vectors(self, name: str) -> bool:
        """Whether the vectors of a collection must be computed again. Always False for a store on a server."""
        if self.is_remote:
            return False
        with self.open_client():
            collection = self.fetch_collection(name)
            return bool(read_info(collection).is_rebuilding_vectors) or is_index_damaged(
                collection, self.folder / "chroma"
            )

    def drop_vectors(self, name: str, info: CollectionInfo) -> list[Passage]:
        """Store `info`, then remove a damaged vector index. Returns the passages, which have no vectors now.

        If the process is killed between the two steps, the index remains damaged, so the next process that changes the
        collection repeats both.
        """
        with self.open_client():
            collection = self.fetch_collection(name)
            collection.modify(metadata=info.make_metadata())
            client: Any = self.get_client()
            client.close()
            self.client, self.read_revisions, self.undamaged_names = None, {}, set()
            remove_index(self.folder / "chroma", str(collection.id))
        return self.fetch_passages(name)[1]

    def rename(self, name: str, new_name: str, info: CollectionInfo) -> None:
        """Rename a collection and store `info` as its metadata. The passages and vectors are unchanged."""
        with self.open_client():
            self.fetch_collection(name).modify(name=new_name, metadata=info.make_metadata())
            self.read_revisions.pop(name, None)
            self.undamaged_names.discard(name)

    def delete(self, name: str) -> None:
        with self.open_client() as client:
            self.fetch_collection(name)
            client.delete_collection(name)
            self.read_revisions.pop(name, None)
            self.undamaged_names.discard(name)


class OpenStores:
    """The stores that this process has opened, by their folder or URL."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # else two threads that open a folder at once would each get a store of their own
        self.get = lru_cache(maxsize=64)(Store)


OPEN_STORES = PerProcess(OpenStores)


def check_embedding_name(name: str, info: CollectionInfo, embedding: str) -> None:
    if info.embedding != embedding:
        raise SetupError(
            f"The collection {name!r} was made with the embeddings {info.embedding!r}, but {embedding!r} is set; "
            f"set embeddings to {info.embedding!r}, or index the documents into a new collection."
        )


def make_unknown_collection_error(name: str, path: str, names: list[str]) -> SetupError:
    available = f"there are: {', '.join(names[:20])}" if names else "there is none yet"
    return SetupError(
        f"There is no collection {name!r} in the store {path}; {available}. "
        f"To create it, index documents into it: quorum index PATH --collection {name}"
    )
