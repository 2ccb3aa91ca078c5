"""Indexes LangChain's documents, from any loader or splitter, into a collection."""

from collections.abc import Iterable, Iterator, Mapping, Sized
from contextlib import closing
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from quorum.core.errors import SetupError
from quorum.core.store_folder import DEFAULT_FOLDER
from quorum.documents.langchain_documents import UNNAMED, name_document, read_langchain_passages
from quorum.documents.metadata import rename_reserved
from quorum.models import get_embedding_name
from quorum.retrievers.added_context import check_added_context
from quorum.retrievers.collection_names import check_own_collection_name
from quorum.retrievers.embedder import get_indexing_embedder
from quorum.retrievers.index import check_words, count_change
from quorum.retrievers.index_report import IndexReport, ProgressCallback, count_embeddings
from quorum.retrievers.ledger import Ledger
from quorum.retrievers.open_document import OpenDocument
from quorum.retrievers.store import open_store


def index_given(
    documents: Document | Iterable[Document],
    *,
    collection: str,
    store: str | Path = DEFAULT_FOLDER,
    embeddings: str | Embeddings = "embedded",
    words: int | None = 100,
    add_context: str | None = None,
    prune: bool = False,
    title_key: str | None = None,
    progress: ProgressCallback | None = None,
    embedding_batch: int | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> IndexReport:
    """Index LangChain's documents into a collection, which is created if it does not exist. The call blocks.

    The documents may come from a generator: they are read one at a time, and their texts are not kept. All documents
    with the same source count as one, in whatever order they come; a document without a source counts by itself. If the
    collection has passages of a source that is given again, those that are not among the new ones are removed.

    words: a document of more words is split into passages of at most so many; None: each document is one passage.
    prune: remove all documents that an earlier call has indexed and that are not among these; files stay.
    title_key: see `read_langchain_passages`. progress: called with (documents done, documents in total, the document's
    name); if their number is not known, the total is the number done. embedding_batch: as in `index_documents`.
    metadata: for all passages, beside their own. add_context: as there, for documents that are split.

    Raises `SetupError` as `index_documents` does, and for an item that is not a document.
    """
    check_own_collection_name(collection)
    check_added_context(add_context)
    if words is not None:
        check_words(words)
    items = [documents] if isinstance(documents, Document) else documents
    count = len(items) if isinstance(items, Sized) else 0
    added = rename_reserved(metadata or {})
    report, opened_store, open_documents = IndexReport(), open_store(store), dict[str, OpenDocument]()
    with count_embeddings(report), opened_store.hold_writer_lock():
        name = get_embedding_name(embeddings)
        embedder = get_indexing_embedder(embeddings, name, opened_store.folder, embedding_batch)
        with closing(Ledger(opened_store, collection, name, lambda: embedder, add_context=add_context)) as ledger:
            for number, document in enumerate(check_documents(items), start=1):
                source = name_document(document)
                if source not in open_documents:
                    open_documents[source] = ledger.begin_document(source)
                document = document.model_copy(update={"metadata": {**document.metadata, **added}})
                passages = list(read_langchain_passages(document, words, title_key, outline=ledger.has_outline))
                ledger.add_passages(open_documents[source], passages, report.skipped)
                if not passages:
                    report.skipped.append((describe_document(document, source), "empty text"))
                if progress:
                    progress(number, max(count, number), source)
            for open_document in open_documents.values():
                if open_document.count:  # a source whose documents are all empty keeps its passages
                    count_change(report, ledger.end_document(open_document))
            if prune:
                report.removed = remove_others(ledger, open_documents)
            report.passages = ledger.finish()
            report.skipped += ledger.refused
            report.copies = ledger.copy_count
    return report


def check_documents(items: Iterable[Any]) -> Iterator[Document]:
    """The items. Raises `SetupError` for one that is not a document."""
    for number, item in enumerate(items):
        if not isinstance(item, Document):
            raise SetupError(
                f"documents[{number}] is a {type(item).__name__} ({str(item)[:60]!r}), not a LangChain Document; give "
                "what a loader or a splitter returns, and files by their paths: quorum.index(PATH, ...)."
            )
        yield item


def describe_document(document: Document, source: str) -> str:
    """A document in a message: its source, and its page and its id if they are known."""
    page = document.metadata.get("page")
    details = [*([f"page {page}"] if page is not None else []), *([f"id {document.id}"] if document.id else [])]
    return ", ".join([source, *(detail for detail in details if not source.startswith(UNNAMED))])


def remove_others(ledger: Ledger, kept_sources: Iterable[str]) -> int:
    """Remove the documents that an earlier call has indexed, but those of `kept_sources`; returns how many."""
    given_sources: set[str] = set()
    for entry in ledger.entries.values():
        if '"given"' in entry.locations_json:
            locations = entry.read_locations()
            given_sources.update(source for source, location in locations.items() if location.get("given"))
    removed_sources = sorted(given_sources - set(kept_sources))
    for source in removed_sources:
        ledger.remove_document(source)
    return len(removed_sources)
