"""Manages collections: list, show, rename, export, import, clear."""

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from quorum.core.errors import SetupError
from quorum.core.files import open_regular
from quorum.core.state import Passage, Place
from quorum.core.where import Where, format_where, parse_where
from quorum.datasets.records import read_json_lines
from quorum.documents.pieces import add_context
from quorum.models import get_embedding_name
from quorum.retrievers.added_context import OUTLINE
from quorum.retrievers.collection_names import SAMPLE, check_collection_name
from quorum.retrievers.embedder import get_indexing_embedder
from quorum.retrievers.forget_collection import delete_completely, remove_index_folders
from quorum.retrievers.index_recovery import find_index_folders
from quorum.retrievers.index_report import IndexReport
from quorum.retrievers.ledger import Ledger
from quorum.retrievers.metadata import find_maker
from quorum.retrievers.store import Store, open_store

CONTEXT_MARK = "context_kind"  # in an exported line: its field "context" was written by `quorum index --context`


@dataclass(frozen=True)
class CollectionSummary:
    """A summary of a collection.

    passages, files: the numbers of its passages and of the documents that they are from; files is None if unknown.
    embedding: the name of the model that embedded the passages. bytes: its size on disk, None on a server. changed: the
    time of its last change, ISO 8601. made_for: "evaluation" or "sample" for a collection that Quorum made for its
    own use, None for a user's own. unfinished: whether a change of it has not finished, or its damaged vectors are
    being rebuilt. made_from: the name of the file or folder that an evaluation made it from. context: what is indexed
    with each passage beside title, headings and text: "outline", or None for nothing.
    """

    name: str
    passages: int
    files: int | None
    embedding: str
    bytes: int | None
    changed: str | None
    made_for: str | None
    unfinished: bool
    made_from: str | None = None
    context: str | None = None


def list_collection_summaries(store: str | Path) -> list[CollectionSummary]:
    """All collections of a store, in alphabetical order. The call blocks."""
    opened_store = open_store(store)
    return [summarize_collection(opened_store, name) for name in opened_store.list_collections()]


def check_collection_exists(collection: str, store: str | Path) -> None:
    """Raise a `SetupError` if the store has no such collection; its message names those that exist. The call blocks."""
    names = open_store(store).list_collections()
    if check_collection_name(collection) not in names:
        available = f"it has: {', '.join(names[:20])}" if names else "it has none yet"
        raise SetupError(f"There is no collection {collection!r} in the store {store}; {available}.")


def summarize_collection(store: Store, name: str) -> CollectionSummary:
    """The summary of a collection. The call blocks."""
    info = store.fetch_info(check_collection_name(name))
    made_for = find_maker(info.make_metadata())
    size = None if store.is_remote else measure_bytes(store, name)
    return CollectionSummary(
        name,
        store.count_passages(name),
        info.files,
        info.embedding,
        size,
        info.changed,
        made_for,
        info.is_being_changed or bool(info.is_rebuilding_vectors),
        info.made_from,
        info.context,
    )


def measure_bytes(store: Store, name: str) -> int:
    """Approximate bytes of a collection on disk: its vector files, its texts and their metadata."""
    with store.open_client():
        id_ = str(store.fetch_collection(name).id)
    folder = store.chroma_folder
    vectors = sum(path.stat().st_size for index in find_index_folders(folder, id_) for path in index.iterdir())
    query = (
        "SELECT COALESCE(SUM(LENGTH(m.string_value)), 0) FROM embedding_metadata m JOIN embeddings e ON e.id = m.id "
        "JOIN segments s ON s.id = e.segment_id WHERE s.collection = ?"
    )
    database_uri = (folder / "chroma.sqlite3").resolve().as_uri()
    with closing(sqlite3.connect(f"{database_uri}?mode=ro", uri=True)) as database:
        (texts,) = database.execute(query, (id_,)).fetchone()
    return int(vectors) + int(texts)


def count_passages_by_document(collection: str, store: str | Path, where: Where = None) -> dict[str, int]:
    """{document: how many of its passages the collection holds}, sorted by document. The call blocks.

    where: a filter; only passages that pass it are counted. Raises `SetupError` if it does not fit the collection.
    """
    opened_store, name = open_store(store), check_collection_name(collection)
    part, text = parse_where(where), format_where(where)
    passing_ids = None if text is None else opened_store.fetch_matching_ids(name, text)
    counts: Counter[str] = Counter()
    for id_, entry in opened_store.fetch_entries(name).items():
        if passing_ids is None or part is None:
            counts.update(entry.position_by_document.keys())
        elif id_ in passing_ids:  # a passage of several documents may pass in some of them only
            counts.update(entry.list_passing(part))
    return dict(sorted(counts.items()))


def rename_collection(collection: str, new_name: str, store: str | Path) -> None:
    """Rename a collection. If an evaluation made it, it is the user's own from now on. The call blocks.

    Raises `SetupError` if the new name is taken, or if one of the names is that of the sample collection.
    """
    opened_store = open_store(store)
    if SAMPLE in (collection, check_collection_name(new_name)):
        raise SetupError(
            f"The collection {SAMPLE!r} keeps its name, and no other collection can take that name; give other names."
        )
    with opened_store.hold_writer_lock():
        info = opened_store.fetch_info(check_collection_name(collection))
        if new_name in opened_store.list_collections():
            raise SetupError(f"There is a collection {new_name!r} already; give another name, or remove it first.")
        opened_store.rename(collection, new_name, replace(info, made_for=None, made_from=None))
        remove_index_folders(opened_store, collection)


def delete_evaluation_collections(store: str | Path) -> tuple[list[str], str]:
    """Remove the collections that evaluations made for their own use. Returns (their names, what `delete_completely`
    returns). The call blocks.
    """
    opened_store, removed_names = open_store(store), []
    with opened_store.hold_writer_lock():
        for summary in list_collection_summaries(store):
            if summary.made_for == "evaluation":
                removed_names.append(summary.name)
        return removed_names, delete_completely(opened_store, removed_names)


def export_lines(collection: str, store: str | Path) -> Iterator[str]:
    """The passages of a collection as JSON lines {"id", "title", "text", "places"}; those with a context also
    have {"context", "context_kind"}. The call blocks.

    They are sorted by document, and within a document by position.
    """
    for passage in open_store(store).fetch_passages(check_collection_name(collection))[1]:
        mark = {CONTEXT_MARK: OUTLINE} if "context" in passage else {}
        yield json.dumps({**passage, **mark}, ensure_ascii=False)


def write_export(collection: str, store: str | Path, file: Path) -> int:
    """Write the lines of `export_lines` to a file, and return their number. A failed write does not change the file."""
    count = 0
    draft = file.with_name(f".{file.name}.part")
    try:
        with draft.open("w", encoding="utf-8") as out:
            for line in export_lines(collection, store):
                out.write(line + "\n")
                count += 1
        os.replace(draft, file)
    except OSError as error:
        raise SetupError(f"{file} cannot be written ({error.strerror}); give another file.") from None
    finally:
        with suppress(OSError):  # the path of the draft may be as unusable as that of the file
            draft.unlink(missing_ok=True)
    return count


def import_lines(file: Path, collection: str, store: str | Path, embeddings: str | Embeddings) -> IndexReport:
    """Index the passages in a file that `write_export` wrote, with their ids and places. The call blocks.

    The passages are embedded by `embeddings`, which need not be those of the exported collection. If the collection
    has passages of the same documents, they are replaced.
    """
    if check_collection_name(collection) == SAMPLE:
        raise SetupError(f"The collection {SAMPLE!r} is reserved for the sample documents; give another name.")
    try:
        open_regular(file).close()
    except FileNotFoundError:
        raise SetupError(f"There is no file {file}; give a file that `quorum collections export` wrote.") from None
    except OSError as error:
        raise SetupError(f"{file} cannot be read ({error.strerror}); give a file of JSON lines.") from None
    report, opened_store = IndexReport(), open_store(store)
    with opened_store.hold_writer_lock():
        embedding = get_embedding_name(embeddings)
        embedder = get_indexing_embedder(embeddings, embedding, opened_store.folder)
        passages_by_document = group_by_document(file)
        has_context = any("context" in passage for passages in passages_by_document.values() for passage in passages)
        context = OUTLINE if has_context else None
        info = opened_store.find_info(collection)
        if has_context and info is not None and info.context is None:
            raise SetupError(
                f"The passages in {file} have a context (their field 'context'), and those of the collection "
                f"{collection!r} have none; give another collection."
            )
        with closing(Ledger(opened_store, collection, embedding, lambda: embedder, add_context=context)) as ledger:
            for document, passages in passages_by_document.items():
                change = ledger.replace(document, passages, report.skipped)
                # Each change except "empty" is also the name of a count in the report.
                if change != "empty":
                    setattr(report, change, getattr(report, change) + 1)
            report.passages = ledger.finish()
            report.copies = ledger.copy_count
    return report


def group_by_document(file: Path) -> dict[str, list[Passage]]:
    """{document: its passages in the exported file, in order}.

    A passage with several places is copied to the group of each place's document, and each copy has only that place.
    Passages without a place are in the group of `file` itself.
    """
    groups: dict[str, list[Passage]] = {}
    for number, value in read_json_lines(file):
        passage = parse_exported_passage(value, f"{file}, line {number}")
        places: list[Place | None] = [*(passage.get("places") or [])] or [None]
        for place in places:
            copy: Passage = {**passage}
            if place is not None:
                copy["places"] = [place]
            groups.setdefault(str(file.resolve()) if place is None else place["file"], []).append(copy)
    return groups


def parse_exported_passage(value: Any, location: str) -> Passage:
    """The passage in a line of JSON that `export_lines` wrote, or in another object with `id` and `text`.

    If `places` is malformed, the passage gets no places. Raises `SetupError`, which names `location`, if `value` is not
    such an object.
    """
    from quorum.datasets.records import parse_passage

    passage = parse_passage(value, location)
    if value.get(CONTEXT_MARK) == OUTLINE and isinstance(value.get("context"), str):
        passage = add_context(passage, value["context"])
    places = value.get("places")
    if isinstance(places, list) and all(
        isinstance(place, dict) and isinstance(place.get("file"), str) for place in places
    ):
        place_fields = Place.__annotations__.keys()
        passage["places"] = [Place(**{k: v for k, v in place.items() if k in place_fields}) for place in places]  # type: ignore[typeddict-item]
    return passage
