"""The metadata of a collection and of each of its passages."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from quorum.core.errors import SetupError
from quorum.core.metadata import INNER_KEYS, flat_metadata, name_kind
from quorum.core.state import Passage, Place
from quorum.core.where import Filter, matches
from quorum.documents.metadata import name_type
from quorum.documents.places import find_source

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

OTHER_PROGRAM = "another program"  # made a collection that Quorum only reads
FORMAT_VERSION = 2  # how files are read; version 1 stored no places and left formatting marks in the text
# The fields of `CollectionInfo` that are stored under another name, with this name.
STORED_NAMES = {"is_being_changed": "writing", "is_rebuilding_vectors": "torn", "sample_hash": "sample"}
# A key in the location of a passage in a document (see PassageEntry). It is there only if the passage's text in this
# document is not exactly the stored text; its value is then the hash of the text in the document.
OWN_HASH_KEY = "own"
FILE_HASH_KEY = "file_hash"  # in a location: the hash of the file when it was read; only Quorum writes it
CONTEXT_KEY = "context"  # in a location: the passage's context in that document (`quorum index --context outline`)
FILE_TYPE = "file_type"
NOT_OF_A_LOCATION = ("file", "headings", FILE_HASH_KEY)  # keys of a place that its location does not take over
NO_PLACE_KEY = "no_place"  # in a location: the document is no file, and the location holds metadata only
MAX_PLACES = 50  # how many places a passage lists at most
MAX_LISTED_KEYS = 500  # how many keys of metadata a collection lists; with more, its passages are read to find them


@dataclass(frozen=True)
class CollectionInfo:
    """The metadata of a collection.

    revision: changes with every change of content; empty for another program's collection. is_being_changed: a run of
    changes has not finished; stored as "writing". sample_hash: a hash of the sample collection's files, empty while
    these are being indexed, None in any other collection; stored as "sample". is_rebuilding_vectors: the vectors were
    damaged and are being rebuilt, True or None; stored as "torn". format: how its files were read (`FORMAT_VERSION`),
    None in old collections. files: number of documents. changed: time of the last change, ISO 8601. made_for:
    "evaluation" if an evaluation made the collection for its own use, "another program" for one that Quorum did not
    make, else None. made_from: the name of the file or folder that the evaluation made it from. keys: JSON {key of the
    passages' metadata: kinds of its values}, None if it is not known. context: what is indexed with each passage beside
    title, headings and text: "outline", or None for nothing.
    """

    embedding: str
    dimension: int
    revision: str = ""
    is_being_changed: bool = False
    sample_hash: str | None = None
    is_rebuilding_vectors: bool | None = None
    format: int | None = None
    files: int | None = None
    changed: str | None = None
    made_for: str | None = None
    made_from: str | None = None
    keys: str | None = None
    context: str | None = None

    def make_metadata(self) -> dict[str, str | int | bool]:
        """The metadata as Chroma stores it."""
        return {STORED_NAMES.get(name, name): value for name, value in vars(self).items() if value is not None}

    def with_new_revision(self, is_being_changed: bool) -> "CollectionInfo":
        """The metadata after a change of the collection: a new revision, changed now."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return replace(self, revision=uuid4().hex[:12], is_being_changed=is_being_changed, changed=now)


@dataclass(frozen=True)
class PassageEntry:
    """The metadata of a passage: its title and a hash of its content.

    position_by_document: document -> the passage's position among the passages of that document; stored as "places".
    headings: the headings above the passage. locations_json: JSON {document: location}, stored as "where"; a location
    is {page, offsets, time, metadata, hash of the file ...} and, if the passage's text in that document differs a
    little, the hash of that text under `OWN_HASH_KEY`. sketch: hashes of runs of words, by which copies of the passage
    are found (see `quorum.documents.duplicates`).
    """

    title: str
    hash: str
    position_by_document: Mapping[str, int]
    headings: tuple[str, ...] = ()
    locations_json: str = ""
    sketch: Sequence[int] = field(default=(), compare=False)

    @property
    def context(self) -> str:
        """What is indexed with the passage but not shown: that of the document whose metadata stand first."""
        if f'"{CONTEXT_KEY}"' not in self.locations_json:
            return ""
        locations = self.read_locations()
        return str(locations[sort_sources(locations)[0]].get(CONTEXT_KEY, ""))

    def list_metadata(self) -> dict[str, dict[str, Any]]:
        """{document: the passage's flat metadata there}. Documents that hold exactly the stored text come first."""
        locations = self.read_locations()
        return {source: self.complete_metadata(locations[source]) for source in sort_sources(locations)}

    def list_shown_metadata(self) -> dict[str, dict[str, Any]]:
        """As `list_metadata`, of the documents that hold exactly the stored text: whoever may read one of these may
        read it. A document that holds nearly the same text shows nobody the words of another.
        """
        locations = self.read_locations()
        metadata = self.list_metadata()
        return {source: values for source, values in metadata.items() if OWN_HASH_KEY not in locations[source]}

    def list_passing(self, part: Filter) -> list[str]:
        """The documents through which the passage passes a filter, in the order of `list_metadata`."""
        if not self.locations_json:  # of an older version, which stored the title only
            return [*self.position_by_document] if matches(part, {"title": self.title}) else []
        return [source for source, metadata in self.list_shown_metadata().items() if matches(part, metadata)]

    def complete_metadata(self, location: Mapping[str, Any]) -> dict[str, Any]:
        """The flat metadata of the passage at a location: Quorum's own keys, and what its document says."""
        own: Mapping[str, Any] = location.get("metadata") or {}
        known = {key: location[key] for key in ("page", "modified") if key in location}
        known |= {"title": self.title, **({"heading": self.headings[-1]} if self.headings else {})}
        if "source" in own and FILE_TYPE in own and not location.get("given"):
            return {**own, **known}  # flat already: `quorum.documents.metadata` made them
        source = find_source(own)
        if source is not None:
            known |= {"source": source, FILE_TYPE: name_type(source)}
        return flat_metadata(known, own)

    def make_metadata(self) -> dict[str, Any]:
        """The metadata as Chroma stores it: those of `list_metadata` for the first document, and what only Quorum
        reads; "copies" is the number of documents, if their metadata differ. `read_entry` reads it back.
        """
        flat = list(self.list_metadata().values())
        stored_values = {
            **(flat[0] if flat else {}),
            "title": self.title,
            "hash": self.hash,
            "places": json.dumps(self.position_by_document, sort_keys=True),
        }
        if self.headings:
            stored_values["headings"] = json.dumps(self.headings)
        if self.locations_json:
            stored_values["where"] = self.locations_json
        if any(other != flat[0] for other in flat):
            stored_values["copies"] = len(flat)
        if self.sketch:
            stored_values["sketch"] = " ".join(f"{number:x}" for number in self.sketch)
        return stored_values

    def read_locations(self) -> dict[str, dict[str, Any]]:
        """{document: location} as described in `PassageEntry`; empty if the collection is of an older version."""
        locations: dict[str, dict[str, Any]] = json.loads(self.locations_json) if self.locations_json else {}
        return locations

    def add_document(self, source: str, number: int, location: Mapping[str, Any] | None) -> "PassageEntry":
        """A copy of this entry that also names the document `source`.

        number: the passage's position among the passages of that document. location: see `get_location`.
        """
        locations = self.read_locations() | ({source: dict(location)} if location is not None else {})
        return replace(
            self,
            position_by_document={**self.position_by_document, source: number},
            locations_json=format_locations(locations),
        )

    def remove_document(self, source: str) -> "PassageEntry":
        """A copy of this entry that no longer names the document `source`."""
        position_by_document = {other: number for other, number in self.position_by_document.items() if other != source}
        locations = {other: location for other, location in self.read_locations().items() if other != source}
        return replace(self, position_by_document=position_by_document, locations_json=format_locations(locations))

    def has_exact_text_outside(self, source: str) -> bool:
        """Whether a document other than `source` holds the passage with exactly the stored text."""
        locations = self.read_locations()
        return any(
            other != source and OWN_HASH_KEY not in locations.get(other, {}) for other in self.position_by_document
        )


def format_locations(locations: Mapping[str, Any]) -> str:
    return json.dumps(locations, sort_keys=True, ensure_ascii=False) if locations else ""


def sort_sources(locations: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The documents, those with exactly the stored text first."""
    return sorted(locations, key=lambda source: (OWN_HASH_KEY in locations[source], source))


def get_location(passage: Passage) -> dict[str, Any] | None:
    """Where in its document a passage stands, from the first of its places, with its metadata and its context; None if
    it has nothing of these.

    The keys "file" and "headings" are left out, because a `PassageEntry` stores them separately. The metadata are those
    of the place; if it has none, those of the passage.
    """
    places = passage.get("places") or []
    location: dict[str, Any] = {NO_PLACE_KEY: True}
    if places:
        location = {name: value for name, value in places[0].items() if name not in NOT_OF_A_LOCATION}
    if "metadata" not in location and passage.get("metadata"):
        location["metadata"] = dict(passage["metadata"])
    if passage.get("context"):
        location[CONTEXT_KEY] = passage["context"]
    return location if places or location.keys() & {"metadata", CONTEXT_KEY} else None


def add_kinds(kinds: dict[str, set[str]], entry: PassageEntry) -> None:
    """Add the kinds of values of a passage's metadata, in all its documents, to those by key."""
    for metadata in entry.list_metadata().values() or [{"title": entry.title}]:
        for key, value in metadata.items():
            kinds.setdefault(key, set()).add(name_kind(value))


def format_kinds(kinds: Mapping[str, set[str]]) -> str | None:
    """The kinds by key as a collection stores them; None if they are too many."""
    if len(kinds) > MAX_LISTED_KEYS:
        return None
    return json.dumps({key: sorted(kinds[key]) for key in sorted(kinds)}, ensure_ascii=False)


def read_kinds(text: str) -> dict[str, set[str]]:
    return {key: set(kinds) for key, kinds in json.loads(text).items()}


def find_maker(metadata: Mapping[str, Any]) -> str | None:
    """Who made a collection with this metadata: None for a user, with Quorum; "evaluation" or "sample" for Quorum, for
    its own use; OTHER_PROGRAM for a collection of Chroma that Quorum only reads.
    """
    if "embedding" not in metadata:
        return OTHER_PROGRAM
    if "sample" in metadata:
        return "sample"
    if "made_for" in metadata:
        return str(metadata["made_for"])
    return None


def read_info(collection: "Collection") -> CollectionInfo:
    """The metadata of a collection. Raises `SetupError` if Quorum did not make the collection."""
    metadata = collection.metadata or {}
    try:
        return CollectionInfo(
            embedding=str(metadata["embedding"]),
            dimension=int(str(metadata["dimension"])),
            revision=str(metadata["revision"]),
            is_being_changed=bool(metadata["writing"]),
            sample_hash=str(metadata["sample"]) if "sample" in metadata else None,
            is_rebuilding_vectors=True if metadata.get("torn") else None,
            format=int(str(metadata["format"])) if "format" in metadata else None,
            files=int(str(metadata["files"])) if "files" in metadata else None,
            changed=str(metadata["changed"]) if "changed" in metadata else None,
            made_for=str(metadata["made_for"]) if "made_for" in metadata else None,
            made_from=str(metadata["made_from"]) if "made_from" in metadata else None,
            keys=str(metadata["keys"]) if "keys" in metadata else None,
            context=str(metadata["context"]) if "context" in metadata else None,
        )
    except KeyError as missing:
        raise SetupError(
            f"The metadata of the collection {collection.name!r} lack {missing.args[0]!r}, which Quorum has stored "
            "there; index the documents into a new collection."
        ) from None


def read_passage(id_: str, text: str, metadata: Mapping[str, Any]) -> Passage:
    """A stored passage with its places, its metadata and its context. The places in documents with exactly the stored
    text come first; metadata and context are those of the first.
    """
    passage, entry = Passage(id=id_, title=str(metadata["title"]), text=text), read_entry(metadata)
    if places := read_places(entry):
        passage["places"] = places
    if context := entry.context:
        passage["context"] = context
    if own_metadata := {k: v for k, v in sorted(metadata.items()) if k not in INNER_KEYS and k != "title"}:
        passage["metadata"] = own_metadata
    return passage


def read_places(entry: PassageEntry, sources: Sequence[str] | None = None) -> list[Place]:
    """The places of a passage, at most MAX_PLACES; with `sources`, those in these documents, in their order.

    If the entry has no locations, as in collections of older versions, a place is only a file. A document whose name is
    not an absolute path is then left out, because it is not a file.
    """
    if not entry.locations_json:
        files = sorted(entry.position_by_document) if sources is None else sources
        return [Place(file=source) for source in files if Path(source).is_absolute()][:MAX_PLACES]
    locations = entry.read_locations()
    places = []
    for source in (sort_sources(locations) if sources is None else sources)[:MAX_PLACES]:
        if NO_PLACE_KEY in locations[source]:
            continue
        place: dict[str, Any] = {"file": source} | {
            k: v for k, v in locations[source].items() if k not in (OWN_HASH_KEY, FILE_HASH_KEY, CONTEXT_KEY)
        }
        if entry.headings:
            place["headings"] = list(entry.headings)
        places.append(Place(**place))  # type: ignore[typeddict-item]
    return places


def read_entry(metadata: Mapping[str, Any]) -> PassageEntry:
    """The entry from the stored metadata of a passage."""
    return PassageEntry(
        str(metadata["title"]),
        str(metadata["hash"]),
        json.loads(str(metadata["places"])),
        tuple(json.loads(str(metadata["headings"]))) if "headings" in metadata else (),
        str(metadata.get("where") or ""),
        tuple(int(number, 16) for number in str(metadata.get("sketch") or "").split()),
    )
