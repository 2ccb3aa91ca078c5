"""What is kept with a collection and with each of its passages."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from quorum.core.errors import SetupError
from quorum.core.state import Passage

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection


@dataclass(frozen=True)
class Info:
    """What is kept with a collection. `revision` changes with every change of content; `sample`: hash of the sample;
    `torn`: its vectors were lost and are being made anew.
    """

    embedding: str
    dimension: int
    revision: str = ""
    writing: bool = False
    sample: str | None = None
    torn: bool | None = None

    def metadata(self) -> dict[str, str | int | bool]:
        return {name: value for name, value in vars(self).items() if value is not None}

    def revised(self, writing: bool) -> "Info":
        return replace(self, revision=uuid4().hex[:12], writing=writing)


@dataclass(frozen=True)
class Entry:
    """What is kept with a passage: its title, a hash of its content, its place in each document that holds it."""

    title: str
    hash: str
    places: Mapping[str, int]

    def metadata(self) -> dict[str, str]:
        return {"title": self.title, "hash": self.hash, "places": json.dumps(self.places, sort_keys=True)}


def info_of(collection: "Collection") -> Info:
    """What is kept with a collection, if it is one of ours."""
    kept = collection.metadata or {}
    try:
        return Info(
            embedding=str(kept["embedding"]),
            dimension=int(str(kept["dimension"])),
            revision=str(kept["revision"]),
            writing=bool(kept["writing"]),
            sample=str(kept["sample"]) if "sample" in kept else None,
            torn=True if kept.get("torn") else None,
        )
    except KeyError:
        raise SetupError(
            f"The collection {collection.name!r} was not made by Quorum: it does not say which embeddings it holds; "
            "index the documents into a new collection."
        ) from None


def passage_of(id_: str, text: str, metadata: Mapping[str, Any]) -> Passage:
    return Passage(id=id_, title=str(metadata["title"]), text=text)


def entry_of(metadata: Mapping[str, Any]) -> Entry:
    return Entry(str(metadata["title"]), str(metadata["hash"]), json.loads(str(metadata["places"])))
