"""The ledger of a collection: which document holds which passages, and the changes that bring it up to date."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from langchain_core.embeddings import Embeddings

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.retrievers.metadata import Entry, Info
from quorum.retrievers.passages import content_hash, indexed_text
from quorum.retrievers.store import Changes, Store

LOG = logging.getLogger("quorum")
EMBEDDED_AT_ONCE = 128
WRITTEN_AT_ONCE = 5000
Change = Literal["added", "unchanged", "replaced", "empty"]


class Ledger:
    """One run of changes to a collection. Used by its store's one writer.

    Passages are embedded and stored in batches, each marked as unfinished; what has to go is removed in `finish`, after
    everything new is stored. So a run that is killed loses no passage, and the next run ends where this one would have.
    """

    def __init__(
        self, store: Store, name: str, embedding: str, model: Callable[[], Embeddings], sample: str | None = None
    ) -> None:
        self.store, self.name, self.embedding, self.model, self.sample = store, name, embedding, model, sample
        self.info: Info | None = store.find(name)
        if self.info and self.info.embedding != embedding:
            raise SetupError(
                f"The collection {name!r} was made with the embeddings {self.info.embedding!r}, but {embedding!r} is "
                "set; set embeddings to the former, or give another collection."
            )
        self.new: dict[str, Passage] = {}
        self.moved: dict[str, None] = {}
        self.gone: dict[str, None] = {}
        self.entries: dict[str, Entry] = {}
        if self.info:
            self.mend(self.info)
            self.entries = store.entries(name)
        self.held: dict[str, dict[str, int]] = {}
        for id_, entry in self.entries.items():
            for source, place in entry.places.items():
                self.held.setdefault(source, {})[id_] = place

    def mend(self, info: Info) -> None:
        """Make the vectors of a torn index anew, of the passages that the collection holds. Killed, it begins again."""
        if not self.store.is_torn(self.name):
            return
        self.info = replace(info, torn=True).revised(writing=True)
        passages = self.store.without_vectors(self.name, self.info)
        said = "The vector index of %r was damaged by an abrupt end; its %d passages are embedded anew."
        LOG.warning(said, self.name, len(passages))
        self.entries = self.store.entries(self.name)
        for begin in range(0, len(passages), EMBEDDED_AT_ONCE):
            self.new = {passage["id"]: passage for passage in passages[begin : begin + EMBEDDED_AT_ONCE]}
            self.flush()
        self.info = replace(self.info, torn=None)
        self.note(writing=True)

    @property
    def sources(self) -> list[str]:
        """The documents of the collection."""
        return list(self.held)

    def replace(self, source: str, passages: Iterable[Passage], skipped: list[tuple[str, str]]) -> Change:
        """Make these the passages of a document; names what cannot be stored in `skipped`."""
        before, now, changed = self.held.get(source, {}), dict[str, int](), False
        try:
            for place, passage in enumerate(passages):
                reason = self.conflict(source, passage, now)
                if reason:
                    skipped.append((source, reason))
                elif passage["id"] not in now:
                    now[passage["id"]] = place
                    changed |= self.put(source, place, passage)
        except BaseException:
            self.held[source] = before | now
            raise
        for id_ in before.keys() - now.keys():
            changed = True
            self.drop(source, id_)
        if not now:
            self.held.pop(source, None)
            return "replaced" if before else "empty"
        self.held[source] = now
        return "added" if not before else "replaced" if changed else "unchanged"

    def conflict(self, source: str, passage: Passage, now: dict[str, int]) -> str:
        """Why a passage cannot have its id: another text has it. Empty when it can."""
        entry = self.entries.get(passage["id"])
        if entry is None or entry.hash == content_hash(passage["title"], passage["text"]):
            return ""
        others = [place for place in entry.places if place != source]
        if passage["id"] in now or others:
            where = "twice in it" if passage["id"] in now else f"in {others[0]}"
            return f"the id {passage['id']!r} stands for another text {where}; the first stays"
        return ""

    def put(self, source: str, place: int, passage: Passage) -> bool:
        """Note a passage of a document; whether that changes anything."""
        id_, hash_ = passage["id"], content_hash(passage["title"], passage["text"])
        entry = self.entries.get(id_)
        if entry is not None and entry.hash == hash_:
            if entry.places.get(source) == place:
                return False
            self.entries[id_] = replace(entry, places={**entry.places, source: place})
            self.moved[id_] = None
        else:
            self.entries[id_] = Entry(passage["title"], hash_, {source: place})
            self.new[id_] = passage
        self.gone.pop(id_, None)
        if len(self.new) >= EMBEDDED_AT_ONCE or len(self.moved) >= WRITTEN_AT_ONCE:
            self.flush()
        return True

    def remove(self, source: str) -> None:
        """Remove a document."""
        for id_ in self.held.pop(source, {}):
            self.drop(source, id_)

    def drop(self, source: str, id_: str) -> None:
        """A document no longer holds a passage; it goes with the last one that does."""
        entry = self.entries[id_]
        places = {other: place for other, place in entry.places.items() if other != source}
        if places:
            self.entries[id_] = replace(entry, places=places)
            self.moved[id_] = None
        else:
            del self.entries[id_]
            self.new.pop(id_, None)
            self.gone[id_] = None

    def flush(self, removed: Iterable[str] = ()) -> None:
        """Embed and store what is waiting."""
        moved = [(id_, self.entries[id_]) for id_ in self.moved if id_ in self.entries and id_ not in self.new]
        changes = Changes(self.embedded(), moved, list(removed))
        if changes.passages or changes.entries or changes.removed:
            self.note(writing=True, changes=changes)
        self.new.clear()
        self.moved.clear()

    def embedded(self) -> list[tuple[Passage, Entry, Sequence[float]]]:
        """The waiting passages with their vectors."""
        if not self.new:
            return []
        model = self.model()
        vectors = model.embed_documents([indexed_text(passage) for passage in self.new.values()])
        sizes = {len(vector) for vector in vectors}
        if self.info is None:
            self.info = Info(self.embedding, sizes.copy().pop(), sample=self.sample).revised(writing=True)
            by_dot = getattr(model, "similarity", None) == "dot"
            self.store.create(self.name, self.info, "dot" if by_dot else "cosine")
        if sizes != {self.info.dimension}:
            raise SetupError(
                f"The collection {self.name!r} holds vectors of {self.info.dimension} numbers, but the embeddings "
                f"{self.embedding!r} give {min(sizes)}; give another collection."
            )
        return [(p, self.entries[i], vector) for (i, p), vector in zip(self.new.items(), vectors, strict=True)]

    def note(self, writing: bool, changes: Changes | None = None) -> None:
        if self.info is not None:
            self.info = self.info.revised(writing)
            self.store.write(self.name, self.info, changes)

    def finish(self, sample: str | None = None) -> int:
        """Store the rest, remove what has to go, mark the collection as finished; the number of its passages."""
        self.flush(removed=self.gone)
        if self.info is None:
            return 0
        if self.info.writing or sample != self.info.sample:
            self.info = replace(self.info, sample=sample)
            self.note(writing=False)
        return self.store.count(self.name)
