"""Finds out what a filter lets through in a collection, and keeps it until the collection changes."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from quorum.core.metadata import INNER_KEYS, name_kind
from quorum.core.state import Passage, Place
from quorum.core.where import Filter, matches, parse_where
from quorum.retrievers.chroma_rows import read_rows
from quorum.retrievers.foreign import is_foreign
from quorum.retrievers.metadata import PassageEntry, read_entry, read_info, read_kinds
from quorum.retrievers.where_in_chroma import Clause, check_filter, join, make_clause

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

T = TypeVar("T")
MAX_KEPT = 64  # filters, and collections, that are kept
FEWEST_COPIES: dict[str, Any] = {"copies": {"$gte": 2}}  # passages of several documents with different metadata


class Copies(NamedTuple):
    """A passage that stands in several documents.

    hash: as it is stored. documents: how many. metadata: what it has in each that holds exactly the stored text.
    """

    hash: str
    documents: int
    metadata: list[dict[str, Any]]


@dataclass
class Table:
    """The metadata that a collection's passages have.

    kinds: key -> kinds of its values. texts: key -> the texts that are its values; copies: the passages of several
    documents; both None if they have not been read.
    """

    kinds: Mapping[str, set[str]]
    texts: dict[str, set[str]] | None = None
    copies: list[Copies] | None = None


@dataclass
class CollectionFilters:
    """What filters let through in the collections of one store.

    The keys are the collection's id, its revision, and the filter as text.
    """

    tables: "OrderedDict[tuple[str, str], Table]" = field(default_factory=OrderedDict)
    clauses: "OrderedDict[tuple[str, str, str], Clause]" = field(default_factory=OrderedDict)
    ids: "OrderedDict[tuple[str, str, str], frozenset[str]]" = field(default_factory=OrderedDict)

    def find_clause(self, collection: "Collection", revision: str, where: str) -> Clause:
        """The filter as Chroma's `where`. Raises `SetupError` if it does not fit the collection's metadata.

        Call it only inside `Store.open_client`. revision: of the collection's content.
        """
        key = str(collection.id), revision, where
        if key not in self.clauses:
            part = read_filter(where)
            table = self.find_table(collection, revision)
            check_filter(part, table.kinds, f"the collection {collection.name!r}")
            clause = make_clause(part, table.kinds, lambda name: self.read_texts(collection, table).get(name, set()))
            if not is_foreign(collection):
                clause = add_copies(clause, part, read_copies(collection, table))
            keep(self.clauses, key, clause)
        return self.clauses[key]

    def find_ids(self, collection: "Collection", revision: str, where: str) -> frozenset[str]:
        """The ids of the passages that pass. Call it only inside `Store.open_client`."""
        key = str(collection.id), revision, where
        if key not in self.ids:
            clause = self.find_clause(collection, revision, where)
            found: Any = {"ids": []}
            if clause is not False:
                found = collection.get(where=None if clause is True else clause, include=[])
            keep(self.ids, key, frozenset(found["ids"]))
        return self.ids[key]

    def find_table(self, collection: "Collection", revision: str) -> Table:
        """The kinds of the collection's metadata: those that it lists, else those that its passages have."""
        key = str(collection.id), revision
        if key not in self.tables:
            keys = None if is_foreign(collection) else read_info(collection).keys
            table = Table({} if keys is None else read_kinds(keys))
            if keys is None:
                table.kinds = find_kinds(self.read_metadata(collection))
            keep(self.tables, key, table)
        return self.tables[key]

    def read_texts(self, collection: "Collection", table: Table) -> dict[str, set[str]]:
        """{key: the texts that are its values}, read from the collection if that has not been done yet."""
        if table.texts is None:
            texts: dict[str, set[str]] = {}
            for metadata in self.read_metadata(collection):
                for key, value in metadata.items():
                    if isinstance(value, str):
                        texts.setdefault(key, set()).add(value)
            table.texts = texts
        return table.texts

    def read_metadata(self, collection: "Collection") -> Iterator[Mapping[str, Any]]:
        """The metadata of every passage, without what only Quorum reads."""
        hidden = frozenset() if is_foreign(collection) else INNER_KEYS
        for row in read_rows(collection, ["metadatas"]):
            yield {key: value for key, value in (row["metadata"] or {}).items() if key not in hidden}


def find_kinds(rows: Iterable[Mapping[str, Any]]) -> dict[str, set[str]]:
    """{key: the kinds of its values} of the metadata of passages."""
    kinds: dict[str, set[str]] = {}
    for metadata in rows:
        for key, value in metadata.items():
            if value is not None and value != []:
                kinds.setdefault(key, set()).add(name_kind(value))
    return kinds


def read_copies(collection: "Collection", table: Table) -> list[Copies]:
    """The passages that stand in several documents with different metadata."""
    if table.copies is None:
        rows: Any = collection.get(where=FEWEST_COPIES, include=["metadatas"])
        table.copies = [
            Copies(str(row["hash"]), int(row["copies"]), list(read_entry(row).list_shown_metadata().values()))
            for row in rows["metadatas"]
        ]
    return table.copies


def add_copies(clause: Clause, part: Filter, copies: Sequence[Copies]) -> Clause:
    """The clause, made exact for passages that stand in several documents: such a passage passes if what it has in one
    of them passes. Chroma stores what it has in the first.
    """
    if not copies:
        return clause
    passing = sorted({copy.hash for copy in copies if any(matches(part, metadata) for metadata in copy.metadata)})
    chosen: Clause = bool(passing) and join("$and", [FEWEST_COPIES, {"hash": {"$in": passing}}])
    counts = sorted({copy.documents for copy in copies})
    return join("$or", [join("$and", [clause, {"copies": {"$nin": counts}}]), chosen])


def keep_passing_places(passage: Passage, where: str) -> Passage:
    """The passage as whoever may read only what passes the filter sees it: without the places in other documents, and
    with the metadata that it has in one whose metadata pass.
    """
    places, part = passage.get("places") or [], read_filter(where)
    does_first_pass = matches(part, {"title": passage["title"], **passage.get("metadata", {})})
    if len(places) < 2 and does_first_pass:
        return passage
    passing = [(place, metadata) for place in places if matches(part, metadata := complete_place(passage, place))]
    kept: Passage = {k: v for k, v in passage.items() if k not in ("places", "metadata")}  # type: ignore[assignment]
    if passing:
        kept["places"] = [place for place, _ in passing]
    if does_first_pass and "metadata" in passage:
        kept["metadata"] = passage["metadata"]
    elif passing:
        kept["metadata"] = {key: value for key, value in sorted(passing[0][1].items()) if key != "title"}
    return kept


def complete_place(passage: Passage, place: Place) -> dict[str, Any]:
    """The flat metadata of a passage at one of its places."""
    return PassageEntry(passage["title"], "", {}, tuple(place.get("headings") or ())).complete_metadata(place)


@lru_cache(maxsize=256)
def read_filter(where: str) -> Filter:
    """The filter of a setting that `format_where` wrote."""
    part = parse_where(where)
    assert part is not None
    return part


def keep(kept: "OrderedDict[Any, T]", key: Any, value: T) -> None:
    """Keep a value with the MAX_KEPT that were kept last."""
    kept[key] = value
    while len(kept) > MAX_KEPT:
        kept.popitem(last=False)
