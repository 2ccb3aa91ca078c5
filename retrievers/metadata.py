"""The metadata of a collection and of each of its passages."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from quorum.core.errors import SetupError
from quorum.core.state import Passage, Place

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

FORMAT = 2  # of reading: 1 knew no places and left marks of formatting in the text
MOST_PLACES = 50  # that a passage names


@dataclass(frozen=True)
class Info:
    """The metadata of a collection. `revision` changes with every change of content; `sample`: hash of the sample;
    `torn`: its vectors were lost and are being rebuilt; `format`: how its files were read, 1 in collections of older
    versions; `files`: documents in it; `changed`: when, in ISO 8601; `made_for`: what made it for its own use.
    """

    embedding: str
    dimension: int
    revision: str = ""
    writing: bool = False
    sample: str | None = None
    torn: bool | None = None
    format: int | None = None
    files: int | None = None
    changed: str | None = None
    made_for: str | None = None

    def metadata(self) -> dict[str, str | int | bool]:
        return {name: value for name, value in vars(self).items() if value is not None}

    def revised(self, writing: bool) -> "Info":
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return replace(self, revision=uuid4().hex[:12], writing=writing, changed=now)


@dataclass(frozen=True)
class Entry:
    """The metadata of a passage: its title, a hash of its content, its place in each document that holds it.

    headings: those above it. where: JSON {document: page, offsets, time ...}; under "own" the hash of a copy whose text
    differs a little there. sketch: see `quorum.documents.duplicates`.
    """

    title: str
    hash: str
    places: Mapping[str, int]
    headings: tuple[str, ...] = ()
    where: str = ""
    sketch: Sequence[int] = field(default=(), compare=False)

    def metadata(self) -> dict[str, str]:
        kept = {"title": self.title, "hash": self.hash, "places": json.dumps(self.places, sort_keys=True)}
        if self.headings:
            kept["headings"] = json.dumps(self.headings)
        if self.where:
            kept["where"] = self.where
        if self.sketch:
            kept["sketch"] = " ".join(f"{number:x}" for number in self.sketch)
        return kept

    def spots(self) -> dict[str, dict[str, Any]]:
        """Document -> where in it the passage stands."""
        found: dict[str, dict[str, Any]] = json.loads(self.where) if self.where else {}
        return found

    def at(self, source: str, place: int, spot: Mapping[str, Any] | None) -> "Entry":
        """The entry with a place in one more document."""
        spots = self.spots() | ({source: dict(spot)} if spot is not None else {})
        return replace(self, places={**self.places, source: place}, where=as_json(spots))

    def without(self, source: str) -> "Entry":
        """The entry without its place in a document."""
        places = {other: place for other, place in self.places.items() if other != source}
        return replace(self, places=places, where=as_json({k: v for k, v in self.spots().items() if k != source}))

    def is_held_exactly(self, without: str) -> bool:
        """Whether another document holds exactly this text of the passage."""
        spots = self.spots()
        return any(other != without and "own" not in spots.get(other, {}) for other in self.places)


def as_json(spots: Mapping[str, Any]) -> str:
    return json.dumps(spots, sort_keys=True, ensure_ascii=False) if spots else ""


def spot_of(passage: Passage) -> dict[str, Any] | None:
    """A passage's place in its document, without fields that the entry has; None if the passage has no place."""
    places = passage.get("places")
    if not places:
        return None
    return {name: value for name, value in places[0].items() if name not in ("file", "headings")}


def info_of(collection: "Collection") -> Info:
    """The metadata of a collection, if it is one of ours."""
    kept = collection.metadata or {}
    try:
        return Info(
            embedding=str(kept["embedding"]),
            dimension=int(str(kept["dimension"])),
            revision=str(kept["revision"]),
            writing=bool(kept["writing"]),
            sample=str(kept["sample"]) if "sample" in kept else None,
            torn=True if kept.get("torn") else None,
            format=int(str(kept["format"])) if "format" in kept else None,
            files=int(str(kept["files"])) if "files" in kept else None,
            changed=str(kept["changed"]) if "changed" in kept else None,
            made_for=str(kept["made_for"]) if "made_for" in kept else None,
        )
    except KeyError:
        raise SetupError(
            f"The collection {collection.name!r} was not made by Quorum: it does not say which embeddings it holds; "
            "index the documents into a new collection."
        ) from None


def passage_of(id_: str, text: str, metadata: Mapping[str, Any]) -> Passage:
    """A passage as it was stored, with its places; those that hold it just as it is written come first."""
    passage = Passage(id=id_, title=str(metadata["title"]), text=text)
    if places := places_of(entry_of(metadata)):
        passage["places"] = places
    return passage


def places_of(entry: Entry) -> list[Place]:
    """The places of a passage; a collection of an older version names files only."""
    if not entry.where:
        return [Place(file=source) for source in sorted(entry.places) if Path(source).is_absolute()][:MOST_PLACES]
    spots = entry.spots()
    order = sorted(spots, key=lambda source: ("own" in spots[source], source))
    found = []
    for source in order[:MOST_PLACES]:
        place: dict[str, Any] = {"file": source} | {k: v for k, v in spots[source].items() if k != "own"}
        if entry.headings:
            place["headings"] = list(entry.headings)
        found.append(Place(**place))  # type: ignore[typeddict-item]
    return found


def entry_of(metadata: Mapping[str, Any]) -> Entry:
    return Entry(
        str(metadata["title"]),
        str(metadata["hash"]),
        json.loads(str(metadata["places"])),
        tuple(json.loads(str(metadata["headings"]))) if "headings" in metadata else (),
        str(metadata.get("where") or ""),
        tuple(int(number, 16) for number in str(metadata.get("sketch") or "").split()),
    )
