"""Lists collections and their passages, and deletes collections."""

from collections.abc import Sequence
from pathlib import Path

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.core.store_folder import DEFAULT_FOLDER
from quorum.core.where import format_where
from quorum.retrievers.choose_collection import locate_collection
from quorum.retrievers.collection_filters import keep_passing_places
from quorum.retrievers.collection_names import check_collection_name, get_located_collection
from quorum.retrievers.forget_collection import delete_completely
from quorum.retrievers.originals import find_uploads_folder, remove_upload_folders
from quorum.retrievers.passages import hide_context
from quorum.retrievers.store import open_store


def list_collections(store: str | Path = DEFAULT_FOLDER) -> list[str]:
    """The collections of a store. The call blocks."""
    return open_store(store).list_collections()


def list_passages(context: Context) -> list[Passage]:
    """All passages of the collection that the context asks, sorted by document, and within a document by position; with
    a filter, those that pass.

    The call blocks.
    """
    located_context = locate_collection(context)
    store, name = open_store(located_context.store), get_located_collection(located_context)
    passages = [hide_context(p) for p in store.fetch_passages(name, located_context.title_key)[1]]
    where = format_where(context.where)
    if where is None:
        return passages
    passing_ids = store.fetch_matching_ids(name, where)
    return [keep_passing_places(passage, where) for passage in passages if passage["id"] in passing_ids]


def delete_collection(collection: str, store: str | Path = DEFAULT_FOLDER, foreign: bool = False) -> str:
    """Remove a collection, the files that were uploaded into it, and what the store's folder holds of its texts:
    vectors, indexes, freed parts of Chroma's file. Replies of models in the journal stay. The call blocks.

    Returns a sentence if Chroma's file may still hold its texts, else an empty text (see `delete_completely`).
    Raises `SetupError` if it does not exist, and, unless `foreign` is true, if another program made it.
    """
    return delete_collections([collection], store, foreign)


def delete_collections(names: Sequence[str], store: str | Path = DEFAULT_FOLDER, foreign: bool = False) -> str:
    """As `delete_collection`, for several: Chroma's file is rewritten once."""
    opened_store, names = open_store(store), [check_collection_name(name) for name in names]
    with opened_store.hold_writer_lock():
        uploads: dict[str, list[str]] = {}
        if find_uploads_folder(store).is_dir():
            for name in set(names) & set(opened_store.list_collections()):
                entries = opened_store.fetch_entries(name).values()
                uploads[name] = [document for entry in entries for document in entry.position_by_document]
        return delete_completely(
            opened_store, names, foreign, lambda name: remove_upload_folders(store, uploads.get(name, []))
        )
