"""The documents of a collection: which passages each of them has, in which order."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from quorum.algorithms.passage_runs import widen_run
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.core.where import format_where
from quorum.documents.document_names import DocumentName, name_document, name_part
from quorum.documents.pieces import get_headings
from quorum.models.token_estimate import estimate_tokens
from quorum.retrievers.choose_collection import locate_collection
from quorum.retrievers.collection_filters import keep_passing_places, read_filter
from quorum.retrievers.collection_names import get_located_collection
from quorum.retrievers.index_cache import LoadedIndexes
from quorum.retrievers.metadata import OTHER_PROGRAM, PassageEntry, read_places
from quorum.retrievers.passages import hide_context
from quorum.retrievers.store import Store, open_store

PASSAGE_OVERHEAD = 3  # tokens beside a passage's text: the blank line before it, and its number


class UnorderedDocumentsError(SetupError):
    """Nothing says which passages belong to one document, and in which order."""


@dataclass(frozen=True)
class Documents:
    """The documents of a collection, sorted by source, or those of given passages, in their order.

    by_name: the passages of each document in its order. A passage of several documents stands in each, and its first
    place there is the one in that document. names: the documents of each passage, by its id. passages: all, each once.
    """

    by_name: dict[DocumentName, list[Passage]]
    names: dict[str, list[DocumentName]]
    passages: list[Passage]

    @cached_property
    def order(self) -> dict[DocumentName, int]:
        """The number of each document, from 0."""
        return {name: number for number, name in enumerate(self.by_name)}

    def find_name(self, passage: Passage) -> DocumentName | None:
        """The document in which a found passage is read: that of its first place, or the first that has it; None if it
        is in no document any more.
        """
        names = self.names.get(passage["id"], [])
        name = name_document(passage)
        return name if name in names else next(iter(names), None)


def group_passages(located: Iterable[tuple[DocumentName, Passage]], passages: Sequence[Passage]) -> Documents:
    """The documents of passages that come in the order of their documents."""
    by_name: dict[DocumentName, list[Passage]] = {}
    names: dict[str, list[DocumentName]] = {}
    for name, passage in located:
        by_name.setdefault(name, []).append(passage)
        names.setdefault(passage["id"], []).append(name)
    return Documents(by_name, names, list(passages))


def group_given(passages: Sequence[Passage]) -> Documents:
    """The documents of passages that come with a question: those of one file, or with one title, in the given order."""
    return group_passages(((name_document(passage), passage) for passage in passages), passages)


LOADED_DOCUMENTS: LoadedIndexes[Documents] = LoadedIndexes(most=4)


async def load_documents(context: Context) -> Documents:
    """The documents of the collection that the context searches; with a filter, only the passages that pass it.

    They are kept in memory until the collection changes. Raises `UnorderedDocumentsError` as
    `check_documents_are_ordered` does.
    """
    return await asyncio.to_thread(load_documents_now, context)


def load_documents_now(context: Context) -> Documents:
    """As `load_documents`. The call blocks."""
    store, name, where = check_documents_are_ordered(context)
    info = store.fetch_revised_info(name)
    return LOADED_DOCUMENTS.get((store.location, name, where), info, partial(build_documents, store, name, where))


def check_documents_are_ordered(context: Context) -> tuple[Store, str, str | None]:
    """(store, collection, filter) of what the context searches. The call blocks.

    Raises `UnorderedDocumentsError` for a retriever of the user's own, and for a collection that another program made:
    neither says which passages follow one another in a document.
    """
    from quorum.retrievers.langchain_retrievers import Retriever

    retriever, where = getattr(context.retriever, "inner", context.retriever), format_where(context.where)
    searched: Any = getattr(retriever, "lexical", retriever)
    if isinstance(retriever, str):
        located_context = locate_collection(context)
        store, name = open_store(located_context.store), get_located_collection(located_context)
    elif isinstance(retriever, Retriever) and hasattr(searched, "store"):
        store, name, where = open_store(searched.store), searched.collection, searched.where
    else:
        raise UnorderedDocumentsError(
            f"Whole documents cannot be read, because nothing says in which order the passages that the retriever "
            f"{type(retriever).__name__} finds stand in their documents; index the documents with quorum index, or use "
            "concat."
        )
    if store.fetch_info(name).made_for == OTHER_PROGRAM:
        raise UnorderedDocumentsError(
            f"Whole documents cannot be read from the collection {name!r}, because another program made it and nothing "
            "says in which order its passages stand in their documents; index the documents with quorum index, or use "
            "concat."
        )
    return store, name, where


def build_documents(store: Store, name: str, where: str | None) -> tuple[str, Documents]:
    """(revision, documents) from the collection's passages."""
    revision, passages = store.fetch_passages(name)
    entries = store.fetch_entries(name)
    passing = set(entries) if where is None else store.fetch_matching_ids(name, where)
    kept = [hide_context(passage) for passage in passages if passage["id"] in passing and passage["id"] in entries]
    if where is None:
        located = [item for passage in kept for item in list_positions(passage, entries[passage["id"]])]
    else:
        located = [item for passage in kept for item in list_passing_positions(passage, entries[passage["id"]], where)]
        kept = [keep_passing_places(passage, where) for passage in kept]
    located.sort(key=lambda item: item[:2])
    return revision, group_passages(
        ((name_part(source, passage["title"], line), passage) for source, _, line, passage in located), kept
    )


def list_positions(passage: Passage, entry: PassageEntry) -> list[tuple[str, int, int | None, Passage]]:
    """(source, position, line, the passage with its place there first) for each document of a passage."""
    locations = entry.read_locations()
    return [
        (source, position, locations.get(source, {}).get("line"), put_place_first(passage, source))
        for source, position in entry.position_by_document.items()
    ]


def list_passing_positions(
    passage: Passage, entry: PassageEntry, where: str
) -> list[tuple[str, int, int | None, Passage]]:
    """As `list_positions`, for each document through which the passage passes a filter. The passage has only the places
    in these documents, and its metadata are those that it has there.
    """
    locations, metadata, sources = entry.read_locations(), entry.list_metadata(), entry.list_passing(read_filter(where))
    positions = []
    for source in sources:
        own: Passage = {k: v for k, v in passage.items() if k not in ("places", "metadata")}  # type: ignore[assignment]
        if places := read_places(entry, [source, *(other for other in sources if other != source)]):
            own["places"] = places
        if shown := {key: value for key, value in sorted(metadata.get(source, {}).items()) if key != "title"}:
            own["metadata"] = shown
        line = locations.get(source, {}).get("line")
        positions.append((source, entry.position_by_document[source], line, own))
    return positions


def put_place_first(passage: Passage, source: str) -> Passage:
    """The passage with its place in the document `source`, if it has one, as its first place."""
    places = passage.get("places", [])
    if not places or places[0]["file"] == source:
        return passage
    return {**passage, "places": sorted(places, key=lambda place: place["file"] != source)}


async def find_neighbours(
    passage: Passage, context: Context, budget: int, given: Sequence[Passage] | None = None
) -> list[Passage]:
    """The passages around a found one in its document, and itself, in the document's order: the widest run whose texts
    have at most `budget` tokens (see `widen_run`). A passage that is in no document is alone.

    given: the passages that came with the question, None if a collection is searched. Raises `UnorderedDocumentsError`
    as `load_documents` does.
    """
    documents = await load_documents(context) if given is None else group_given(given)
    name = documents.find_name(passage)
    return [passage] if name is None else list(cut_run(documents.by_name[name], passage["id"], budget))


def cut_run(document: Sequence[Passage], id_: str, budget: int) -> Sequence[Passage]:
    """The widest run of a document's passages around the one with this id, of at most `budget` tokens."""
    best = next(number for number, passage in enumerate(document) if passage["id"] == id_)
    run = widen_run([*map(count_tokens, document)], [tuple(get_headings(p)) for p in document], best, budget)
    return document[run.start : run.stop]


def count_tokens(passage: Passage) -> int:
    """The tokens of a passage in a document, estimated."""
    return estimate_tokens(passage["text"]) + PASSAGE_OVERHEAD
