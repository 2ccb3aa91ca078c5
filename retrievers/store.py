"""Collections in a Chroma store: a folder, or a server by http://host:port. One client per store and process."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.retrievers.chroma_client import connect, make_folder, told, torn
from quorum.retrievers.index_recovery import clear, is_cut, is_torn, marked, take_in
from quorum.retrievers.metadata import Entry, Info, entry_of, info_of, passage_of
from quorum.retrievers.passages import scored

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

DEFAULT_FOLDER = ".quorum"
AT_ONCE = 1000
# Accuracy before speed; a query still takes milliseconds.
HNSW = {"ef_construction": 200, "ef_search": 200, "max_neighbors": 32}
SPACES = {"cosine": "cosine", "dot": "ip"}
WRITER_WAITS_S = 600.0


@dataclass
class Changes:
    """One batch of changes: passages to store with their vectors, new entries of stored passages, ids to remove."""

    passages: list[tuple[Passage, Entry, Sequence[float]]] = field(default_factory=list)
    entries: list[tuple[str, Entry]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    def apply(self, collection: "Collection") -> None:
        for some in batches(self.passages):
            collection.upsert(
                ids=[passage["id"] for passage, _, _ in some],
                documents=[passage["text"] for passage, _, _ in some],
                metadatas=[entry.metadata() for _, entry, _ in some],
                embeddings=[vector for _, _, vector in some],
            )
        for few in batches(self.entries):
            collection.update(ids=[id_ for id_, _ in few], metadatas=[entry.metadata() for _, entry in few])
        for ids in batches(self.removed):
            collection.delete(ids=ids)


def batches(items: list[Any]) -> Iterator[list[Any]]:
    return (items[i : i + AT_ONCE] for i in range(0, len(items), AT_ONCE))


def open_store(where: str | Path) -> "Store":
    """The store in a folder or at a URL; the same object for the same place."""
    text = str(where).strip()
    if not text:
        raise SetupError("The store's name is empty; give a folder such as .quorum, or http://host:8000.")
    return cached(text if "://" in text else str(Path(text).expanduser().resolve()))


class Store:
    """Access to one Chroma store. Every method blocks: call it on a thread.

    Chroma breaks if one process reads a folder while another writes to it. So every operation on a folder takes a lock
    that all processes share. The client is reopened if a collection's revision has changed since it was read.
    """

    def __init__(self, where: str) -> None:
        self.where = where
        self.remote = "://" in where
        self.folder = Path(DEFAULT_FOLDER).resolve() if self.remote else Path(where)  # for locks and caches
        self.client: ClientAPI | None = None
        self.read: dict[str, str] = {}  # collection -> the revision that this client has read
        self.fitting: set[tuple[str, str]] = set()  # collections and the embeddings that they were made with
        self.whole: set[str] = set()  # collections whose vector index this client has looked over
        self.mutex = threading.RLock()
        self.access = FileLock(self.folder / "access.lock", poll_interval=0.005)

    @property
    def missing(self) -> bool:
        return not self.remote and not (self.folder / "chroma").exists()

    @contextmanager
    def opened(self) -> Iterator["ClientAPI"]:
        """The client, for one short piece of work."""
        with told(self.where):
            if self.remote:
                yield self.connected()
                return
            make_folder(self.folder)
            with self.mutex, self.access:
                yield self.connected()

    def connected(self) -> "ClientAPI":
        with self.mutex:
            if self.client is None:
                self.client = connect(self.where if self.remote else str(self.folder / "chroma"))
            return self.client

    def current(self, name: str) -> "Collection":
        """The collection as it is now; inside `opened` only."""
        collection = self.readable(name)
        info = info_of(collection)
        if not self.remote and self.read.setdefault(name, info.revision) != info.revision:
            client: Any = self.connected()
            client.close()
            self.client, self.read, self.whole = None, {name: info.revision}, set()
            collection = self.readable(name)
        return collection

    def get(self, name: str) -> "Collection":
        from chromadb.errors import NotFoundError

        try:
            return self.connected().get_collection(name, embedding_function=None)
        except NotFoundError:
            raise unknown_collection(name, self.where, names_in(self.connected())) from None

    def readable(self, name: str) -> "Collection":
        """The collection, after a check for visible damage of its vector index; inside `opened` only."""
        collection = self.get(name)
        if not self.remote and name not in self.whole:
            if is_cut(collection, self.folder / "chroma"):
                raise torn(self.where, f"that of {name!r}, by an abrupt end")
            take_in(collection, self.folder / "chroma")
            self.whole.add(name)
        return collection

    @contextmanager
    def writer(self) -> Iterator[None]:
        """Held by the one process (on this machine) that adds to the store."""
        make_folder(self.folder)
        lock = FileLock(self.folder / "writer.lock", poll_interval=0.05)
        try:
            lock.acquire(timeout=WRITER_WAITS_S)
        except Timeout:
            raise SetupError(f"Another process is adding to {self.where}; run this again when it is done.") from None
        try:
            yield
        finally:
            lock.release()

    def names(self) -> list[str]:
        """The collections in alphabetical order."""
        if self.missing:
            return []
        with self.opened() as client:
            return names_in(client)

    def info(self, name: str) -> Info:
        """What is kept with a collection; an unknown one is a `SetupError` that says which exist."""
        if self.missing:
            raise unknown_collection(name, self.where, [])
        with self.opened():
            return info_of(self.get(name))

    def find(self, name: str) -> Info | None:
        """Like `info`; None for an unknown collection."""
        return self.info(name) if name in self.names() else None

    def check_embedding(self, name: str, embedding: str) -> None:
        """SetupError if the collection was made with other embeddings. The check is cached; `query` checks again."""
        if (name, embedding) not in self.fitting:
            check_fit(name, self.info(name), embedding)
            self.fitting.add((name, embedding))

    def query(self, name: str, vector: Sequence[float], k: int, embedding: str | None = None) -> list[Passage]:
        """The k passages nearest to a vector, all when there are fewer; score is the cosine, or the inner product.

        embedding: what made the vector; a collection made with another is a `SetupError`.
        """
        wanted: list[Any] = [list(vector)]
        with self.opened():
            collection = self.current(name)
            info = info_of(collection)
            dimension = info.dimension
            if embedding is not None:
                check_fit(name, info, embedding)
            if info.torn:
                raise SetupError(
                    f"The vectors of the collection {name!r} are being made anew; wait for it, or index into it again."
                )
            if len(vector) != dimension:
                raise SetupError(
                    f"The collection {name!r} holds vectors of {dimension} numbers, the question's has {len(vector)}; "
                    "the embeddings have changed: index the documents into a new collection."
                )
            found: Any = collection.query(
                query_embeddings=wanted, n_results=k, include=["documents", "metadatas", "distances"]
            )
        rows = zip(*(found[part][0] for part in ("ids", "documents", "metadatas", "distances")), strict=True)
        return [scored(passage_of(id_, text, metadata), 1 - distance) for id_, text, metadata, distance in rows]

    def passages(self, name: str) -> tuple[str, list[Passage]]:
        """(revision, all passages in order of document and place)."""
        with self.opened():
            collection = self.readable(name)
            revision, rows = info_of(collection).revision, list(everything(collection, ["metadatas", "documents"]))
        rows.sort(key=lambda row: (*min(json.loads(row["metadata"]["places"]).items(), default=("", 0)), row["id"]))
        return revision, [passage_of(row["id"], row["document"], row["metadata"]) for row in rows]

    def texts(self, name: str, ids: list[str]) -> list[Passage]:
        """The passages of these ids that are there."""
        with self.opened():
            found: Any = self.readable(name).get(ids=ids, include=["metadatas", "documents"])
        rows = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        return [passage_of(id_, text, metadata) for id_, text, metadata in rows]

    def entries(self, name: str) -> dict[str, Entry]:
        """id -> entry of every passage, without the texts."""
        with self.opened():
            rows = list(everything(self.readable(name), ["metadatas"]))
        return {row["id"]: entry_of(row["metadata"]) for row in rows}

    def count(self, name: str) -> int:
        with self.opened():
            return int(self.readable(name).count())

    def create(self, name: str, info: Info, similarity: str = "cosine") -> None:
        """A new, empty collection whose passages are ranked by "cosine" or by "dot", the inner product."""
        configuration: Any = {"hnsw": HNSW | {"space": SPACES[similarity]}}
        with self.opened() as client:
            client.create_collection(
                name, metadata=info.metadata(), configuration=configuration, embedding_function=None
            )
            self.read[name] = info.revision

    def write(self, name: str, info: Info, changes: Changes | None = None) -> None:
        """Keep `info` with the collection and apply changes to it."""
        with self.opened():
            collection = self.current(name)
            collection.modify(metadata=info.metadata())
            self.read[name] = info.revision
            if changes:
                with nullcontext() if self.remote else marked(collection, self.folder / "chroma"):
                    changes.apply(collection)

    def is_torn(self, name: str) -> bool:
        """Whether the vectors of a collection of this folder have to be made anew."""
        if self.remote:
            return False
        with self.opened():
            collection = self.get(name)
            return bool(info_of(collection).torn) or is_torn(collection, self.folder / "chroma")

    def without_vectors(self, name: str, info: Info) -> list[Passage]:
        """Remove a torn vector index and store `info`; returns the passages that now have no vector. If killed in
        between, the index stays torn.
        """
        with self.opened():
            collection = self.get(name)
            collection.modify(metadata=info.metadata())
            client: Any = self.connected()
            client.close()
            self.client, self.read, self.whole = None, {}, set()
            clear(self.folder / "chroma", str(collection.id))
        return self.passages(name)[1]

    def rename(self, name: str, new: str, info: Info) -> None:
        """Rename a collection and store `info` with it; its content is unchanged."""
        with self.opened():
            self.get(name).modify(name=new, metadata=info.metadata())
            self.read.pop(name, None)
            self.whole.discard(name)

    def delete(self, name: str) -> None:
        with self.opened() as client:
            self.get(name)
            client.delete_collection(name)
            self.read.pop(name, None)


@lru_cache(maxsize=64)
def cached(where: str) -> Store:
    return Store(where)


def names_in(client: "ClientAPI") -> list[str]:
    found: list[str] = []
    while page := client.list_collections(limit=AT_ONCE, offset=len(found)):
        found += [collection.name for collection in page]
    return sorted(found)


def everything(collection: "Collection", parts: list[Any]) -> Iterator[dict[str, Any]]:
    """Every row of a collection, a page at a time."""
    offset = 0
    while (page := collection.get(limit=AT_ONCE, offset=offset, include=parts))["ids"]:
        offset += len(page["ids"])
        documents = page["documents"] or [""] * len(page["ids"])
        for id_, metadata, document in zip(page["ids"], page["metadatas"] or [], documents, strict=True):
            yield {"id": id_, "metadata": metadata, "document": document}


def check_fit(name: str, info: Info, embedding: str) -> None:
    if info.embedding != embedding:
        raise SetupError(
            f"The collection {name!r} was made with the embeddings {info.embedding!r}, but {embedding!r} is set; "
            "set embeddings to the former, or index the documents into a new collection."
        )


def unknown_collection(name: str, where: str, names: list[str]) -> SetupError:
    there = f"there are: {', '.join(names[:20])}" if names else "there is none yet"
    return SetupError(
        f"There is no collection {name!r} in the store {where}; {there}. "
        f"Make it with: quorum index PATH --collection {name}"
    )
