"""The documents of a collection as clients see them, and their files."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from threading import Lock
from typing import Any

from quorum.core.context import Context
from quorum.core.files import escape_name
from quorum.core.where import Where, format_where
from quorum.documents.places import make_document_id
from quorum.retrievers.choose_collection import locate_collection
from quorum.retrievers.manage_documents import Document, list_documents
from quorum.retrievers.originals import find_kept_file, open_original, split_upload
from quorum.retrievers.store import open_store
from quorum.serving.errors import Refusal

MOST_LISTS = 8  # collections whose documents are remembered until they change


class DocumentLists:
    """The documents of collections, those that were asked for last, remembered until a collection changes."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.lists: OrderedDict[tuple[str, str, str | None], list[Document]] = OrderedDict()
        self.lock = Lock()

    def locate(self, collection: str) -> str:
        """The store of a collection: the server's, or for the sample perhaps that of all programs. The call blocks."""
        return locate_collection(replace(self.context, collection=collection)).store

    def find_maker(self, collection: str) -> str | None:
        """Who made a collection, as in `CollectionSummary.made_for`. The call blocks."""
        return open_store(self.locate(collection)).fetch_info(collection).made_for

    def list(self, collection: str, where: Where) -> Sequence[Document]:
        """The documents of a collection that pass a client's filter. The call blocks."""
        store, text = self.locate(collection), format_where(where)
        key = (collection, open_store(store).fetch_revised_info(collection).revision, text)
        with self.lock:
            found = self.lists.get(key)
        if found is None:
            found = list_documents(collection, store, text)
        with self.lock:  # another thread may have removed it meanwhile
            self.lists[key] = found
            self.lists.move_to_end(key)
            while len(self.lists) > MOST_LISTS:
                self.lists.popitem(last=False)
        return found

    def find(self, collection: str, id_: str, where: Where) -> Document:
        """A document that passes a client's filter. Raises `Refusal` (404). The call blocks."""
        for document in self.list(collection, where):
            if make_document_id(document.name) == id_:
                return document
        message = f"The collection {collection!r} has no document {id_[:40]!r}; list its documents."
        raise Refusal(404, message, "document_not_found")

    def open(self, collection: str, document: Document) -> BufferedReader:
        """The original of a document, open to read. Raises `Refusal` (403, 404). The call blocks."""
        if document.hidden:
            message = "The server's filter keeps a part of this document back, so its original is not shown."
            raise Refusal(403, message, "filtered")
        file = open_original(self.locate(collection), document.name, document.file_hash)
        if file is None:
            message = (
                f"The original of {document.place} is not here: it was not kept, or the file has moved or "
                "changed since it was indexed; index it again."
            )
            raise Refusal(404, message, "original_not_found")
        return file

    def has_original(self, collection: str, document: Document) -> bool:
        """Whether the original is probably here; only `open` looks at its content. The call blocks."""
        kept = find_kept_file(self.locate(collection), document.name)
        path = Path(document.name) if kept is None else kept
        try:
            may_be_shown = kept is not None or (document.file_hash is not None and path.is_absolute())
            return may_be_shown and not document.hidden and path.is_file()
        except (OSError, ValueError):
            return False

    def describe(self, collection: str, document: Document) -> dict[str, Any]:
        """A document as JSON.

        name: its path from the indexed folder on, as places name it. path: that of an upload in its folder, else null.
        pages: the number of the last page with a passage, or null. modified: the file's time.
        """
        id_, upload = make_document_id(document.name), split_upload(document.name)
        return {
            "id": id_,
            "object": "document",
            "name": document.place,
            "path": escape_name(upload[1]) if upload else None,
            "state": "ready",
            "passages": document.passages,
            "pages": document.pages,
            "modified": document.modified,
            "is_upload": upload is not None,
            "has_original": self.has_original(collection, document),
        }
