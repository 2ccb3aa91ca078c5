"""Reads the rows of a Chroma collection a page at a time, and applies changes to it in batches."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quorum.core.state import Passage
from quorum.retrievers.metadata import PassageEntry

if TYPE_CHECKING:
    import chromadb
    from chromadb.api import ClientAPI

ROWS_PER_CALL = 1000  # rows of one call of Chroma


@dataclass
class Changes:
    """Changes to a collection.

    passages: to store, with their metadata and vectors. entries: new metadata of passages that are stored already.
    removed_ids: ids of passages to remove. replaced_ids: of the passages, those that replace a stored one.
    """

    passages: list[tuple[Passage, PassageEntry, Sequence[float]]] = field(default_factory=list)
    entries: list[tuple[str, PassageEntry]] = field(default_factory=list)
    removed_ids: list[str] = field(default_factory=list)
    replaced_ids: Collection[str] = ()

    def apply(self, collection: "chromadb.Collection") -> None:
        for batch in split_batches(self.passages):
            ids = [passage["id"] for passage, _, _ in batch]
            collection.upsert(
                ids=ids,
                documents=[passage["text"] for passage, _, _ in batch],
                metadatas=make_metadatas(collection, ids, [entry for _, entry, _ in batch], self.replaced_ids),
                embeddings=[vector for _, _, vector in batch],
            )
        for updates in split_batches(self.entries):
            ids = [id_ for id_, _ in updates]
            collection.update(
                ids=ids, metadatas=make_metadatas(collection, ids, [entry for _, entry in updates], set(ids))
            )
        for ids in split_batches(self.removed_ids):
            collection.delete(ids=ids)


def make_metadatas(
    collection: "chromadb.Collection", ids: list[str], entries: Sequence[PassageEntry], stored_ids: Collection[str]
) -> list[Any]:
    """The metadata to store. Chroma keeps the keys of a stored passage that are not given, so those that it shall have
    no more are given as None. stored_ids: of the passages that may be stored.
    """
    stored_keys: dict[str, dict[str, None]] = {}
    if known_ids := [id_ for id_ in ids if id_ in stored_ids]:
        rows: Any = collection.get(ids=known_ids, include=["metadatas"])
        found = zip(rows["ids"], rows["metadatas"], strict=True)
        stored_keys = {id_: dict.fromkeys(metadata or {}) for id_, metadata in found}
    return [{**stored_keys.get(id_, {}), **entry.make_metadata()} for id_, entry in zip(ids, entries, strict=True)]


def remove_lists(collection: "chromadb.Collection") -> None:
    """Remove the passages whose metadata hold lists, before the whole collection is removed: Chroma (1.5.9) would keep
    the lists, and give them to passages of the next collection.
    """
    rows = read_rows(collection, ["metadatas"])
    ids = [row["id"] for row in rows if any(isinstance(value, list) for value in (row["metadata"] or {}).values())]
    for batch in split_batches(ids):
        collection.delete(ids=batch)


def split_batches(items: list[Any]) -> Iterator[list[Any]]:
    return (items[i : i + ROWS_PER_CALL] for i in range(0, len(items), ROWS_PER_CALL))


def list_collection_names(client: "ClientAPI") -> list[str]:
    """The names of all collections in alphabetical order."""
    return sorted(collection.name for collection in list_all_collections(client))


def list_all_collections(client: "ClientAPI") -> list["chromadb.Collection"]:
    """Every collection with its metadata, read a page at a time."""
    collections: list[chromadb.Collection] = []
    while page := client.list_collections(limit=ROWS_PER_CALL, offset=len(collections)):
        collections += page
        if len(page) < ROWS_PER_CALL:
            break
    return collections


def read_rows(collection: "chromadb.Collection", parts: list[Any]) -> Iterator[dict[str, Any]]:
    """Every row of a collection, read a page at a time: {"id", "metadata", "document"}.

    parts: what to read besides the ids, ["metadatas"] or ["metadatas", "documents"]. Without "documents", each document
    is "".
    """
    offset = 0
    while (page := collection.get(limit=ROWS_PER_CALL, offset=offset, include=parts))["ids"]:
        offset += len(page["ids"])
        documents = page["documents"] or [""] * len(page["ids"])
        for id_, metadata, document in zip(page["ids"], page["metadatas"] or [], documents, strict=True):
            yield {"id": id_, "metadata": metadata, "document": document}
