"""Lists the documents of a collection, removes one, and takes back what an interrupted change has left."""

from collections.abc import Container, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from quorum.core.errors import SetupError
from quorum.core.state import Place
from quorum.core.where import Where, format_where, parse_where
from quorum.documents.places import get_file_name
from quorum.retrievers.collection_names import SAMPLE, check_collection_name
from quorum.retrievers.embedder import get_indexing_embedder
from quorum.retrievers.foreign import make_foreign_error
from quorum.retrievers.ledger import Ledger
from quorum.retrievers.metadata import FILE_HASH_KEY, OTHER_PROGRAM, PassageEntry
from quorum.retrievers.originals import remove_originals
from quorum.retrievers.store import Store, open_store


@dataclass
class Document:
    """A document of a collection.

    name: its path, or its address; passages: how many passages it has that pass the filter; hidden: how many do not.
    pages: the last page with a passage, None if it has no pages; modified: the file's time, ISO 8601; file_hash: of its
    file when it was read; given_metadata: whether it was not read from a file as it stands (see `Place.given`).
    """

    name: str
    passages: int = 0
    hidden: int = 0
    pages: int | None = None
    modified: str | None = None
    file_hash: str | None = None
    given_metadata: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The name that people see: the path from the indexed folder on (see `get_file_name`)."""
        return get_file_name(Place(file=self.name, metadata=dict(self.metadata)))

    def add(self, entry: PassageEntry, location: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        """Count a passage that passes the filter."""
        self.passages += 1
        page = location.get("last_page", location.get("page"))
        if isinstance(page, int):
            self.pages = max(self.pages or 0, page)
        self.modified = location.get("modified", self.modified)
        self.file_hash = location.get(FILE_HASH_KEY, self.file_hash)
        self.given_metadata |= bool(location.get("given"))
        self.metadata = self.metadata or metadata


def list_documents(collection: str, store: str | Path, where: Where = None) -> list[Document]:
    """The documents of a collection that have a passage which passes the filter, sorted by name. The call blocks.

    Raises `SetupError` if the filter does not fit the collection.
    """
    opened_store, name = open_store(store), check_collection_name(collection)
    part, text = parse_where(where), format_where(where)
    passing_ids = None if text is None else opened_store.fetch_matching_ids(name, text)
    documents: dict[str, Document] = {}
    for id_, entry in opened_store.fetch_entries(name).items():
        locations, metadata = entry.read_locations(), entry.list_metadata()
        passing: Container[str] = entry.position_by_document
        if passing_ids is not None and part is not None:  # a passage of several documents may pass in some of them only
            passing = entry.list_passing(part) if id_ in passing_ids else ()
        for source in entry.position_by_document:
            document = documents.setdefault(source, Document(source))
            if source in passing:
                document.add(entry, locations.get(source, {}), metadata.get(source, {}))
            else:
                document.hidden += 1
    return [documents[source] for source in sorted(documents) if documents[source].passages]


def check_may_change(store: Store, collection: str) -> None:
    """Raise `SetupError` for the sample, and for another program's collection."""
    if collection == SAMPLE:
        raise SetupError(f"The collection {SAMPLE!r} holds the sample documents, which stay; give another name.")
    info = store.find_info(check_collection_name(collection))
    if info is not None and info.made_for == OTHER_PROGRAM:
        raise make_foreign_error(collection)


def remove_document(collection: str, document: str, store: str | Path) -> None:
    """Remove a document with its passages, and the file that was uploaded. The call blocks.

    document: its name in `list_documents`. Raises `SetupError` if the collection has no such document.
    """
    opened_store = open_store(store)
    check_may_change(opened_store, collection)
    with opened_store.hold_writer_lock():
        embedding = opened_store.fetch_info(check_collection_name(collection)).embedding
        with closing(open_ledger(opened_store, collection, embedding, embedding)) as ledger:
            if document not in ledger.sources:
                raise SetupError(f"The collection {collection!r} has no document {document!r}; list its documents.")
            ledger.remove_document(document)
            ledger.finish()
        remove_originals(store, [document])


def take_back(collection: str, kept_ids: Mapping[str, Container[str]], store: str | Path, *, was_missing: bool) -> None:
    """Take back the passages that an interrupted change has given to documents. The call blocks.

    kept_ids: {document: ids of the passages that it had before}. was_missing: whether the change has made the
    collection; it is removed if nothing is left of it.
    """
    opened_store = open_store(store)
    with opened_store.hold_writer_lock():
        info = opened_store.find_info(collection)
        if info is None:
            return
        with closing(open_ledger(opened_store, collection, info.embedding, info.embedding)) as ledger:
            for document, ids in kept_ids.items():
                ledger.keep_only(document, ids)
            ledger.finish()
            is_empty = not ledger.entries
        if was_missing and is_empty:
            opened_store.delete(collection)


def open_ledger(store: Store, collection: str, embedding: str, embeddings: str | Embeddings) -> Ledger:
    """A ledger for changes that need no embeddings, unless damaged vectors must be computed again."""
    return Ledger(store, collection, embedding, lambda: get_indexing_embedder(embeddings, embedding, store.folder))
