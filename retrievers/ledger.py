"""The ledger of a collection: which document holds which passages, and the changes that bring it up to date."""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from langchain_core.embeddings import Embeddings

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.documents.duplicates import is_comparable, sketch_of
from quorum.documents.pieces import headings_of, passage_hash
from quorum.retrievers.copies import Copies
from quorum.retrievers.metadata import FORMAT, Entry, Info, spot_of
from quorum.retrievers.passages import indexed_text
from quorum.retrievers.store import Changes, Store

LOG = logging.getLogger("quorum")
EMBEDDED_AT_ONCE = 128
WRITTEN_AT_ONCE = 5000
Change = Literal["added", "unchanged", "replaced", "empty"]


class Ledger:
    """One run of changes to a collection. Only the store's one writer uses it.

    The ledger embeds and stores passages in batches, each marked as unfinished. `finish` removes old passages after all
    new ones are stored. So a killed run loses no passage, and the next run reaches the same final state.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        embedding: str,
        model: Callable[[], Embeddings],
        sample: str | None = None,
        made_for: str | None = None,
    ) -> None:
        self.store, self.name, self.embedding, self.model, self.sample = store, name, embedding, model, sample
        self.made_for = made_for
        self.copies: Copies | None = None
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
        self.is_older = self.info is not None and (self.info.format or 1) < FORMAT
        self.read_now: set[str] = set()
        self.held: dict[str, dict[str, int]] = {}
        for id_, entry in self.entries.items():
            for source, place in entry.places.items():
                self.held.setdefault(source, {})[id_] = place

    def mend(self, info: Info) -> None:
        """Rebuild the vectors of a torn index from the collection's passages. If killed, it starts over."""
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
        """Make these the passages of a document; adds passages that cannot be stored to `skipped`."""
        before, now, changed = self.held.get(source, {}), dict[str, int](), False
        copied = self.copied_before(source, before)
        try:
            for place, passage in enumerate(passages):
                reason = self.conflict(source, passage, now)
                if reason:
                    skipped.append((source, reason))
                    continue
                id_ = self.kept_id(source, passage, copied)
                if id_ not in now:
                    now[id_] = place
                    changed |= self.put(source, place, passage, id_)
        except BaseException:
            self.held[source] = before | now
            raise
        for id_ in before.keys() - now.keys():
            changed = True
            self.drop(source, id_)
        self.read_now.add(source)
        if not now:
            self.held.pop(source, None)
            return "replaced" if before else "empty"
        self.held[source] = now
        return "added" if not before else "replaced" if changed else "unchanged"

    def conflict(self, source: str, passage: Passage, now: dict[str, int]) -> str:
        """Why a passage cannot have its id: another text has it. Empty when it can."""
        entry = self.entries.get(passage["id"])
        if entry is None or entry.hash == passage_hash(passage):
            return ""
        others = [place for place in entry.places if place != source]
        if passage["id"] in now or others:
            where = "twice in it" if passage["id"] in now else f"in {others[0]}"
            return f"the id {passage['id']!r} stands for another text {where}; the first stays"
        return ""

    def copied_before(self, source: str, before: Iterable[str]) -> dict[str, str]:
        """The hashes of the passages of a document that were found to be copies -> the passages kept for them."""
        found = {}
        for id_ in before:
            own = self.entries[id_].spots().get(source, {}).get("own") if '"own"' in self.entries[id_].where else None
            if own and self.entries[id_].is_held_exactly(without=source):
                found[str(own)] = id_
        return found

    def kept_id(self, source: str, passage: Passage, copied: dict[str, str]) -> str:
        """The id under which a passage is kept: its own, or that of a passage that says all that it says."""
        if passage["id"] in self.entries or not is_comparable(passage):
            return passage["id"]
        if kept := copied.get(passage_hash(passage)):
            return kept
        if self.copies is None:
            self.copies = Copies(self.entries, lambda ids: self.store.texts(self.name, ids))
        return self.copies.kept_for(passage, source, self.new) or passage["id"]

    def put(self, source: str, place: int, passage: Passage, id_: str) -> bool:
        """Record a passage of a document under `id_`; returns whether anything but times changes."""
        hash_, entry, spot = passage_hash(passage), self.entries.get(id_), spot_of(passage)
        if spot is not None and id_ != passage["id"]:
            spot["own"] = hash_
        self.gone.pop(id_, None)
        changed = True
        if entry is not None and (entry.hash == hash_ or id_ != passage["id"]):
            held = entry.at(source, place, spot)
            changed = entry.places.get(source) != place
            if (held.places, held.where) == (entry.places, entry.where):
                return False
            self.entries[id_] = held
            self.moved[id_] = None
        else:
            sketch = sketch_of(passage) if is_comparable(passage) else ()
            empty = Entry(passage["title"], hash_, {}, tuple(headings_of(passage)), sketch=sketch)
            self.entries[id_] = empty.at(source, place, spot)
            self.new[id_] = passage
            if self.copies is not None:
                self.copies.add(id_, self.entries[id_])
        if len(self.new) >= EMBEDDED_AT_ONCE or len(self.moved) >= WRITTEN_AT_ONCE:
            self.flush()
        return changed

    def remove(self, source: str) -> None:
        """Remove a document."""
        for id_ in self.held.pop(source, {}):
            self.drop(source, id_)

    def drop(self, source: str, id_: str) -> None:
        """Record that a document no longer holds a passage; without any document left, the passage is removed."""
        entry = self.entries[id_].without(source)
        if entry.places:
            self.entries[id_] = entry
            self.moved[id_] = None
        else:
            del self.entries[id_]
            self.new.pop(id_, None)
            self.gone[id_] = None

    def flush(self, removed: Iterable[str] = ()) -> None:
        """Embed and store the waiting passages."""
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
            self.info = Info(self.embedding, min(sizes), sample=self.sample, format=FORMAT, made_for=self.made_for)
            self.info = self.info.revised(writing=True)
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

    @property
    def copied(self) -> int:
        """Passages that are not stored because another document's passage says the same."""
        return sum(len(entry.places) - 1 for entry in self.entries.values())

    def finish(self, sample: str | None = None) -> int:
        """Store the rest, remove old passages, mark the collection as finished; returns the number of its passages."""
        self.flush(removed=self.gone)
        if self.info is None:
            return 0
        is_read = self.held.keys() <= self.read_now
        format_ = FORMAT if is_read else self.info.format
        settled = replace(self.info, sample=sample, files=len(self.held), format=format_)
        if self.made_for is None:  # from now on the user's own collection
            settled = replace(settled, made_for=None)
        if self.info.writing or settled != self.info:
            self.info = settled
            self.note(writing=False)
        return self.store.count(self.name)
