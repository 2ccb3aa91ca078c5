"""Reads and writes collections of a Chroma store: a folder, or a server at http://host:port.

Each process has one client per store.
"""

import json
import threading
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quorum.core.errors import SetupError
from quorum.core.files import expand_home
from quorum.core.forks import PerProcess
from quorum.core.state import Passage
from quorum.retrievers.chroma_rows import (
    Changes,
    list_all_collections,
    list_collection_names,
    read_rows,
    remove_lists,
)
from quorum.retrievers.foreign import (
    CHECKED_TEXTS,
    check_title_key,
    convert_distance,
    is_foreign,
    make_foreign_folder_error,
    read_foreign_entry,
    read_foreign_info,
    read_foreign_passage,
    refuse_foreign,
)
from quorum.retrievers.index_recovery import (
    is_index_damaged,
    keep_write_mark,
    remove_index,
)
from quorum.retrievers.metadata import (
    OTHER_PROGRAM,
    CollectionInfo,
    PassageEntry,
    find_maker,
    read_entry,
    read_info,
    read_passage,
)
from quorum.retrievers.passages import copy_with_score
from quorum.retrievers.store_client import StoreClient, make_unknown_collection_error
from quorum.retrievers.where_in_chroma import LIST_START, Clause, describe_keys

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

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


class Store(StoreClient):
    """Access to one Chroma store. Every method blocks: call it on a thread.

    Chroma fails if one process reads a folder while another writes to it. So every operation on a folder takes a lock
    that all processes share, and the client is opened again if a collection has changed since it was read.
    """

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
            return read_any_info(self.fetch_collection(name))

    def fetch_revised_info(self, name: str) -> CollectionInfo:
        """Like `fetch_info`. For another program's collection its revision is a hash of the content, for which the
        passages may have to be read.
        """
        info = self.fetch_info(name)
        if info.made_for != OTHER_PROGRAM:
            return info
        with self.open_client():
            collection = self.fetch_current_collection(name)
            return replace(info, revision=self.find_content_revision(collection))

    def find_content_revision(self, collection: "Collection") -> str:
        """The revision of another program's collection. Call this only inside `open_client`."""
        return self.content_revisions.find(
            str(collection.id), collection.count(), lambda: read_rows(collection, ["metadatas", "documents"])
        )

    def find_info(self, name: str) -> CollectionInfo | None:
        """Like `fetch_info`, but None for an unknown collection."""
        return self.fetch_info(name) if name in self.list_collections() else None

    def check_embedding(self, name: str, embedding: str) -> None:
        """Raise `SetupError` if the collection was made with other embeddings than those named `embedding`.

        Another program's collection always passes (see `quorum.retrievers.foreign_embeddings`). A collection that
        passes is not checked again here. `query` checks each time, because another process may have made the
        collection anew.
        """
        if (name, embedding) not in self.checked_embeddings:
            info = self.fetch_info(name)
            if info.made_for == OTHER_PROGRAM:
                return
            check_embedding_name(name, info, embedding)
            self.checked_embeddings.add((name, embedding))

    def query(
        self,
        name: str,
        vector: Sequence[float],
        k: int,
        embedding: str | None = None,
        title_key: str | None = None,
        where: str | None = None,
    ) -> list[Passage]:
        """The k passages nearest to a vector, or all if there are fewer. A passage's score is its cosine with the
        vector, or the inner product if the collection was created with the similarity "dot".

        embedding: the name of the embeddings that made the vector. If the collection was made with other embeddings,
        a `SetupError` is raised. title_key: see `read_foreign_passage`. where: a filter, as text (`format_where`).
        """
        vectors: list[Any] = [list(vector)]
        with self.open_client():
            collection = self.fetch_current_collection(name)
            info = read_any_info(collection)
            dimension = info.dimension
            if embedding is not None and info.made_for != OTHER_PROGRAM:
                check_embedding_name(name, info, embedding)
            if info.is_rebuilding_vectors:
                raise SetupError(
                    f"The vectors of the collection {name!r} are being computed again; wait until that is done, "
                    "or index into the collection again."
                )
            if not dimension and info.made_for == OTHER_PROGRAM:
                return []  # it is empty
            if len(vector) != dimension:
                raise SetupError(
                    f"The collection {name!r} holds vectors of {dimension} numbers, but the question's vector "
                    f"has {len(vector)}; the embeddings have changed: index the documents into a new collection."
                )
            clause = True if where is None else self.find_clause(collection, where)
            if clause is False:
                return []
            matches: Any = collection.query(
                query_embeddings=vectors,
                n_results=k,
                where=None if clause is True else clause,
                include=["documents", "metadatas", "distances"],
            )
        rows = zip(*(matches[part][0] for part in ("ids", "documents", "metadatas", "distances")), strict=True)
        if info.made_for == OTHER_PROGRAM:
            return [
                copy_with_score(
                    read_foreign_passage(id_, text, metadata, title_key), convert_distance(distance, collection)
                )
                for id_, text, metadata, distance in rows
                if text
            ]
        return [
            copy_with_score(read_passage(id_, text, metadata), 1 - distance) for id_, text, metadata, distance in rows
        ]

    def find_clause(self, collection: "Collection", where: str) -> Clause:
        """A filter as Chroma's `where`. Call this only inside `open_client`."""
        return self.filters.find_clause(collection, self.find_revision(collection), where)

    def find_revision(self, collection: "Collection") -> str:
        """The revision of a collection's content. Call this only inside `open_client`."""
        return self.find_content_revision(collection) if is_foreign(collection) else read_info(collection).revision

    def fetch_matching_ids(self, name: str, where: str) -> frozenset[str]:
        """The ids of the passages that pass a filter (`format_where`). Raises `SetupError` if it does not fit."""
        with self.open_client():
            collection = self.fetch_current_collection(name)
            return self.filters.find_ids(collection, self.find_revision(collection), where)

    def describe_metadata(self, name: str) -> str:
        """The keys of the passages' metadata, with the kinds of their values, in words."""
        with self.open_client():
            collection = self.fetch_current_collection(name)
            return describe_keys(self.filters.find_table(collection, self.find_revision(collection)).kinds)

    def fetch_checked_texts(self, name: str) -> tuple[list[str], Any]:
        """Some texts of a collection with their vectors, one row of an array each."""
        with self.open_client():
            rows: Any = self.fetch_current_collection(name).get(
                limit=CHECKED_TEXTS, include=["documents", "embeddings"]
            )
        chosen = [row for row, text in enumerate(rows["documents"] or []) if text]
        return [rows["documents"][row] for row in chosen], [rows["embeddings"][row] for row in chosen]

    def fetch_passages(self, name: str, title_key: str | None = None) -> tuple[str, list[Passage]]:
        """(revision, all passages). The passages are sorted by document, and within a document by position; those of
        another program's collection are in its order, without those that have no text.
        """
        with self.open_client():
            collection = self.fetch_undamaged_collection(name)
            if is_foreign(collection):
                rows = list(read_rows(collection, ["metadatas", "documents"]))
                if title_key is not None:
                    check_title_key(title_key, [row["metadata"] for row in rows], name)
                passages = [
                    read_foreign_passage(row["id"], row["document"], row["metadata"], title_key)
                    for row in rows
                    if row["document"]
                ]
                return self.find_content_revision(collection), passages
            revision, rows = read_info(collection).revision, list(read_rows(collection, ["metadatas", "documents"]))
        # By the first document (in alphabetical order) that holds the passage, and the passage's number in it.
        rows.sort(key=lambda row: (*min(json.loads(row["metadata"]["places"]).items(), default=("", 0)), row["id"]))
        return revision, [read_passage(row["id"], row["document"], row["metadata"]) for row in rows]

    def fetch_passages_by_id(self, name: str, ids: list[str], title_key: str | None = None) -> list[Passage]:
        """The stored passages with these ids, in no particular order. Ids that are not stored are left out."""
        with self.open_client():
            collection = self.fetch_undamaged_collection(name)
            stored_rows: Any = collection.get(ids=ids, include=["metadatas", "documents"])
        rows = zip(stored_rows["ids"], stored_rows["documents"], stored_rows["metadatas"], strict=True)
        if is_foreign(collection):
            return [read_foreign_passage(id_, text, metadata, title_key) for id_, text, metadata in rows]
        return [read_passage(id_, text, metadata) for id_, text, metadata in rows]

    def fetch_entries(self, name: str) -> dict[str, PassageEntry]:
        """The id of each passage -> its metadata. The texts are not read."""
        with self.open_client():
            collection = self.fetch_undamaged_collection(name)
            rows = list(read_rows(collection, ["metadatas"]))
        read = read_foreign_entry if is_foreign(collection) else read_entry
        return {row["id"]: read(row["metadata"]) for row in rows}

    def count_passages(self, name: str) -> int:
        with self.open_client():
            return int(self.fetch_undamaged_collection(name).count())

    def create(self, name: str, info: CollectionInfo, similarity: str = "cosine") -> None:
        """Create an empty collection. Its passages are ranked by "cosine" or by "dot", the inner product."""
        self.check_own()
        configuration: Any = {
            "hnsw": HNSW_SETTINGS | {"space": SPACE_OF_SIMILARITY[similarity]},
            "embedding_function": make_embedding_function(info),
        }
        with self.open_client() as client:
            client.create_collection(
                name, metadata=info.make_metadata(), configuration=configuration, embedding_function=None
            )
            self.read_revisions[name] = info.revision

    def write(self, name: str, info: CollectionInfo, changes: Changes | None = None) -> None:
        """Store `info` as the collection's metadata, and apply the changes to the collection."""
        with self.open_client():
            collection = refuse_foreign(self.fetch_current_collection(name))
            collection.modify(metadata=info.make_metadata())
            if has_no_function(collection):
                record_function(collection, info)
            self.read_revisions[name] = info.revision
            if changes:
                with nullcontext() if self.is_remote else keep_write_mark(collection, self.chroma_folder):
                    changes.apply(collection)

    def check_own(self) -> None:
        """Raise `SetupError` if the store is another program's database."""
        if self.is_foreign:
            raise make_foreign_folder_error(self.location)

    def has_damaged_vectors(self, name: str) -> bool:
        """Whether the vectors of a collection must be computed again. Always False for a store on a server."""
        if self.is_remote:
            return False
        with self.open_client():
            collection = self.fetch_collection(name)
            if is_foreign(collection):
                return False
            return bool(read_info(collection).is_rebuilding_vectors) or is_index_damaged(collection, self.chroma_folder)

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
            remove_index(self.chroma_folder, str(collection.id))
        return self.fetch_passages(name)[1]

    def rename(self, name: str, new_name: str, info: CollectionInfo) -> None:
        """Rename a collection and store `info` as its metadata. The passages and vectors are unchanged."""
        with self.open_client():
            refuse_foreign(self.fetch_collection(name)).modify(name=new_name, metadata=info.make_metadata())
            self.read_revisions.pop(name, None)
            self.undamaged_names.discard(name)

    def check_may_delete(self, name: str, foreign: bool = False) -> None:
        """Raise `SetupError` unless the collection exists and, if `foreign` is false, is not another program's."""
        with self.open_client():
            collection = self.fetch_collection(name)
            if not foreign:
                refuse_foreign(collection)

    def delete(self, name: str, foreign: bool = False) -> None:
        """Remove a collection. Raises `SetupError` for another program's, unless `foreign` is true."""
        with self.open_client() as client:
            collection = self.fetch_collection(name)
            if not foreign:
                refuse_foreign(collection)
            keys = (collection.metadata or {}).get("keys")
            if not isinstance(keys, str) or LIST_START in keys:
                remove_lists(collection)
            client.delete_collection(name)
            self.read_revisions.pop(name, None)
            self.undamaged_names.discard(name)


class OpenStores:
    """The stores that this process has opened, by their folder or URL."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # else two threads that open a folder at once would each get a store of their own
        self.get = lru_cache(maxsize=64)(Store)


OPEN_STORES = PerProcess(OpenStores)


def make_embedding_function(info: CollectionInfo) -> Any:
    """The embedding function that Chroma records for a collection, so that it can be searched by texts."""
    from quorum.chroma_function import QuorumEmbeddingFunction

    return QuorumEmbeddingFunction(info.embedding)


def has_no_function(collection: "Collection") -> bool:
    """Whether Chroma has recorded no embedding function for a collection."""
    function = collection.configuration_json.get("embedding_function") or {}
    return bool(function.get("type", "legacy") == "legacy")


def record_function(collection: "Collection", info: CollectionInfo) -> None:
    """Let Chroma record the embedding function of a collection that an older version made.

    Nothing depends on it but a search by texts from outside, so a server that refuses it is no error, nor is Chroma's
    warning about the old form, which is a ValueError where warnings are errors.
    """
    from chromadb.errors import ChromaError

    with suppress(ChromaError, ValueError):
        collection.modify(configuration={"embedding_function": make_embedding_function(info)})


def read_any_info(collection: "Collection") -> CollectionInfo:
    """The metadata of a collection, or what stands in its place for another program's."""
    return read_foreign_info(collection) if is_foreign(collection) else read_info(collection)


def check_embedding_name(name: str, info: CollectionInfo, embedding: str) -> None:
    if info.embedding != embedding:
        raise SetupError(
            f"The collection {name!r} was made with the embeddings {info.embedding!r}, but {embedding!r} is set; "
            f"set embeddings to {info.embedding!r}, or index the documents into a new collection."
        )
