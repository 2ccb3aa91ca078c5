"""Reads the rows of a Chroma collection a page at a time, and applies changes to it in batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from quorum.core.state import Passage
from quorum.retrievers.metadata import PassageEntry

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

ROWS_PER_CALL = 1000  # rows of one call of Chroma


@dataclass
class Changes:
    """Changes to a collection.

    passages: to store, with their metadata and vectors. entries: new metadata of passages that are stored already.
    removed_ids: ids of passages to remove.
    """

    passages: list[tuple[Passage, PassageEntry, Sequence[float]]] = field(default_factory=list)
    entries: list[tuple[str, PassageEntry]] = field(default_factory=list)
    removed_ids: list[str] = field(default_factory=list)

    def apply(self, collection: "Collection") -> None:
        for batch in split_batches(self.passages):
            collection.upsert(
                ids=[passage["id"] for passage, _, _ in batch],
                documents=[passage["text"] for passage, _, _ in batch],
                metadatas=[entry.make_metadata() for _, entry, _ in batch],
                embeddings=[vector for _, _, vector in batch],
            )
        for updates in split_batches(self.entries):
            collection.update(
                ids=[id_ for id_, _ in updates], metadatas=[entry.make_metadata() for _, entry in updates]
            )
        for ids in split_batches(self.removed_ids):
            collection.delete(ids=ids)


def split_batches(items: list[Any]) -> Iterator[list[Any]]:
    return (items[i : i + ROWS_PER_CALL] for i in range(0, len(items), ROWS_PER_CALL))


def list_collection_names(client: "ClientAPI") -> list[str]:
    """The names of all collections in alphabetical order."""
    return sorted(collection.name for collection in list_all_collections(client))


def list_all_collections(client: "ClientAPI") -> list["Collection"]:
    """Every collection with its metadata, read a page at a time."""
    collections: list[Collection] = []
    while page := client.list_collections(limit=ROWS_PER_CALL, offset=len(collections)):
        collections += page
        if len(page) < ROWS_PER_CALL:
            break
    return collections


def read_rows(collection: "Collection", parts: list[Any]) -> Iterator[dict[str, Any]]:
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
