"""Keeps account of which document holds which passages of a collection, and stores the changes."""

import logging
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from langchain_core.embeddings import Embeddings

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.documents.duplicates import is_possible_copy, make_sketch
from quorum.documents.pieces import add_context, get_headings, hash_passage
from quorum.models.embedding_batches import TextsRefused
from quorum.models.vectors import embed_texts
from quorum.retrievers.added_context import OUTLINE, choose_context
from quorum.retrievers.chroma_rows import Changes
from quorum.retrievers.copies import CopyFinder
from quorum.retrievers.foreign import make_foreign_error
from quorum.retrievers.metadata import (
    FILE_HASH_KEY,
    FORMAT_VERSION,
    OTHER_PROGRAM,
    OWN_HASH_KEY,
    CollectionInfo,
    PassageEntry,
    add_kinds,
    format_kinds,
    get_location,
    read_kinds,
)
from quorum.retrievers.open_document import OpenDocument
from quorum.retrievers.passages import hide_context, make_indexed_text
from quorum.retrievers.store import Store
from quorum.retrievers.write_behind import WriteBehind

LOG = logging.getLogger("quorum")
PASSAGES_PER_BATCH = 128  # new passages that are embedded and stored together
ENTRIES_PER_BATCH = 5000  # changed entries that are stored together
# What `Ledger.replace` did with a document; "empty": a document without passages, which was not stored before either.
Change = Literal["added", "unchanged", "replaced", "empty"]


class Ledger:
    """One run of changes to a collection. Only the process that holds the store's writer lock uses it.

    The ledger embeds and stores passages in batches and marks the collection as unfinished. `finish` removes old
    passages after all new ones are stored. So a run that is killed loses no passage, and the next run completes the
    work. A batch is stored while the next one is embedded: `close` the ledger before the writer lock is released.

    name: the name of the collection. embedding: the name of its embeddings; get_model: returns the embeddings. A
    `source` is the name of a document. sample_hash: for the sample collection "", which is stored until `finish`
    replaces it with a hash of the collection's files; None for any other collection. made_for: "evaluation" if an
    evaluation makes the collection for its own use; made_from: the name of the file or folder that the evaluation makes
    it from; otherwise both are None. add_context: as in `quorum.retrievers.index.index_documents`.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        embedding: str,
        get_model: Callable[[], Embeddings],
        sample_hash: str | None = None,
        made_for: str | None = None,
        made_from: str | None = None,
        add_context: str | None = None,
    ) -> None:
        self.store, self.name, self.embedding, self.sample_hash = store, name, embedding, sample_hash
        self.get_model = get_model
        self.made_for, self.made_from = made_for, made_from
        self.copy_finder: CopyFinder | None = None
        self.writer = WriteBehind()
        store.check_own()
        self.info: CollectionInfo | None = store.find_info(name)
        if self.info and self.info.made_for == OTHER_PROGRAM:
            raise make_foreign_error(name)
        if self.info and self.info.embedding != embedding:
            raise SetupError(
                f"The collection {name!r} was made with the embeddings {self.info.embedding!r}, but {embedding!r} is "
                f"set; set embeddings to {self.info.embedding!r}, or give another collection."
            )
        self.context = choose_context(self.info, name, add_context)
        self.refused: list[tuple[str, str]] = []  # (document, why the embeddings refuse a passage of it)
        self.new_passages: dict[str, Passage] = {}
        self.changed_entries: dict[str, None] = {}
        self.removed_ids: dict[str, None] = {}
        self.outdated_ids: dict[str, None] = {}  # stored passages whose context is another one now
        self.replaced_ids: set[str] = set()  # of the new passages, those that replace a stored one
        self.entries: dict[str, PassageEntry] = {}
        # The kinds of values of each key of the passages' metadata; None if they are found only at the end.
        self.kinds: dict[str, set[str]] | None = {} if self.info is None else None
        if self.info and self.info.keys is not None:
            self.kinds = read_kinds(self.info.keys)
        if self.info:
            try:
                self.rebuild_damaged_vectors(self.info)
            except BaseException:
                self.close()
                raise
            self.entries = store.fetch_entries(name)
        self.has_older_format = self.info is not None and (self.info.format or 1) < FORMAT_VERSION
        self.sources_in_this_run: set[str] = set()
        # document -> passage id -> the passage's number in the document
        self.numbers_by_source: dict[str, dict[str, int]] = {}
        for id_, entry in self.entries.items():
            for source, number in entry.position_by_document.items():
                self.numbers_by_source.setdefault(source, {})[id_] = number

    def rebuild_damaged_vectors(self, info: CollectionInfo) -> None:
        """Rebuild the vectors of a damaged index from the collection's passages.

        If the process is killed, the next run begins this again.
        """
        if not self.store.has_damaged_vectors(self.name):
            return
        self.info = replace(info, is_rebuilding_vectors=True).with_new_revision(is_being_changed=True)
        passages = self.store.drop_vectors(self.name, self.info)
        message = "The vector index of %r was damaged by a crash; its %d passages are embedded again."
        LOG.warning(message, self.name, len(passages))
        self.entries = self.store.fetch_entries(self.name)
        for begin in range(0, len(passages), PASSAGES_PER_BATCH):
            self.new_passages = {passage["id"]: passage for passage in passages[begin : begin + PASSAGES_PER_BATCH]}
            self.flush()
        self.info = replace(self.info, is_rebuilding_vectors=None)
        self.start_write(is_being_changed=True)
        self.writer.wait()

    @property
    def has_outline(self) -> bool:
        """Whether passages of the collection are indexed with the first sentence of their section."""
        return self.context == OUTLINE

    @property
    def sources(self) -> list[str]:
        """The names of the documents of the collection."""
        return list(self.numbers_by_source)

    def replace(
        self,
        source: str,
        passages: Iterable[Passage],
        skipped_items: list[tuple[str, str]],
        file_hash: str | None = None,
    ) -> Change:
        """Replace the passages of a document, and return what changed.

        Adds (document, reason) to `skipped_items` for each passage that cannot be stored. file_hash: of the file that
        is read, by which it is known again.
        """
        document = self.begin_document(source, file_hash)
        self.add_passages(document, passages, skipped_items)
        return self.end_document(document)

    def begin_document(self, source: str, file_hash: str | None = None) -> OpenDocument:
        """Begin to replace the passages of a document, which may come in several parts."""
        old_numbers = self.numbers_by_source.get(source, {})
        return OpenDocument(source, old_numbers, self.find_earlier_copies(source, old_numbers), file_hash)

    def add_passages(
        self, document: OpenDocument, passages: Iterable[Passage], skipped_items: list[tuple[str, str]]
    ) -> None:
        """Record the next passages of a document. skipped_items: as in `replace`."""
        source, new_numbers = document.source, document.new_numbers
        try:
            for passage in passages:
                number, document.count = document.count, document.count + 1
                reason = self.find_conflict(source, passage, new_numbers)
                if reason:
                    skipped_items.append((source, reason))
                    continue
                id_ = self.choose_id(source, passage, document.earlier_copies)
                if id_ not in new_numbers:
                    new_numbers[id_] = number
                    document.has_changed |= self.record_passage(source, number, passage, id_, document.file_hash)
        except BaseException:  # the old passages stay, beside the new ones that were already recorded
            kept_numbers = {**document.old_numbers, **new_numbers}
            if kept_numbers:  # a file without any is no document of the collection
                self.numbers_by_source[source] = kept_numbers
            raise

    def end_document(self, document: OpenDocument) -> Change:
        """Release the old passages that the document no longer has, and return what changed."""
        source, old_numbers, new_numbers = document.source, document.old_numbers, document.new_numbers
        if self.refused:
            new_numbers = {id_: number for id_, number in new_numbers.items() if id_ in self.entries}
        for id_ in old_numbers.keys() - new_numbers.keys():
            document.has_changed = True
            self.release_passage(source, id_)
        self.sources_in_this_run.add(source)
        if not new_numbers:
            self.numbers_by_source.pop(source, None)
            return "replaced" if old_numbers else "empty"
        self.numbers_by_source[source] = new_numbers
        return "added" if not old_numbers else "replaced" if document.has_changed else "unchanged"

    def find_conflict(self, source: str, passage: Passage, new_numbers: dict[str, int]) -> str:
        """Why the passage cannot be stored; empty if it can. The reason is that its id already belongs to another text:
        one that this run recorded for the same document, or one of another document.

        new_numbers: the ids of the passages of the same document that this run has already recorded.
        """
        entry = self.entries.get(passage["id"])
        if entry is None or entry.hash == hash_passage(passage):
            return ""
        others = [document for document in entry.position_by_document if document != source]
        if passage["id"] in new_numbers:
            return f"two texts in this document have the id {passage['id']!r}; only the first is stored"
        return f"the id {passage['id']!r} already belongs to a text of {others[0]}; that text stays" if others else ""

    def find_earlier_copies(self, source: str, old_ids: Iterable[str]) -> dict[str, str]:
        """{hash of a passage of this document: id of the nearly equal stored passage that the last run used instead}.

        Leaves out stored passages whose exact text no other document holds any more. old_ids: the stored passages that
        the document held in that run.
        """
        copies = {}
        for id_ in old_ids:
            own_hash = (
                self.entries[id_].read_locations().get(source, {}).get(OWN_HASH_KEY)
                if f'"{OWN_HASH_KEY}"' in self.entries[id_].locations_json
                else None
            )
            if own_hash and self.entries[id_].has_exact_text_outside(source):
                copies[str(own_hash)] = id_
        return copies

    def choose_id(self, source: str, passage: Passage, earlier_copies: dict[str, str]) -> str:
        """The id under which a passage is stored: its own id, or that of the stored passage that it copies."""
        if passage["id"] in self.entries or not is_possible_copy(passage):
            return passage["id"]
        if id_of_copy := earlier_copies.get(hash_passage(passage)):
            return id_of_copy
        if self.copy_finder is None:
            self.copy_finder = CopyFinder(self.entries, self.read_stored_passages)
        copied_id = self.copy_finder.find_containing_passage(passage, source, self.new_passages)
        return copied_id if copied_id in self.entries else passage["id"]

    def record_passage(
        self, source: str, number: int, passage: Passage, id_: str, file_hash: str | None = None
    ) -> bool:
        """Record a passage of a document under `id_`. Returns whether it is new in the document, has another number
        than before, or replaces another text with the same id.

        number: the passage's number in the document; file_hash: of the document's file, if it is one.
        """
        hash_, entry, location = hash_passage(passage), self.entries.get(id_), get_location(passage)
        if location is not None and file_hash is not None:
            location[FILE_HASH_KEY] = file_hash
        if location is not None and id_ != passage["id"]:
            location[OWN_HASH_KEY] = hash_  # the stored text differs a little
        was_removed = self.removed_ids.pop(id_, id_) is None
        has_changed = True
        if entry is not None and (entry.hash == hash_ or id_ != passage["id"]):
            updated_entry = entry.add_document(source, number, location)
            has_changed = entry.position_by_document.get(source) != number or has_new_metadata(
                entry.read_locations().get(source), location
            )
            if (updated_entry.position_by_document, updated_entry.locations_json) == (
                entry.position_by_document,
                entry.locations_json,
            ):
                return False
            self.change_entry(id_, updated_entry)
        else:
            sketch = make_sketch(passage) if is_possible_copy(passage) else ()
            new_entry = PassageEntry(passage["title"], hash_, {}, tuple(get_headings(passage)), sketch=sketch)
            self.entries[id_] = new_entry.add_document(source, number, location)
            self.new_passages[id_] = passage
            if entry is not None or was_removed:
                self.replaced_ids.add(id_)
            if self.copy_finder is not None:
                self.copy_finder.add(id_, self.entries[id_])
        waiting = len(self.new_passages) + len(self.outdated_ids)
        if waiting >= PASSAGES_PER_BATCH or len(self.changed_entries) >= ENTRIES_PER_BATCH:
            self.flush()
        return has_changed

    def remove_document(self, source: str) -> None:
        """Remove a document."""
        for id_ in self.numbers_by_source.pop(source, {}):
            self.release_passage(source, id_)

    def keep_only(self, source: str, ids: Container[str]) -> None:
        """Take back from a document all passages but these."""
        numbers = self.numbers_by_source.get(source, {})
        kept_numbers = {id_: number for id_, number in numbers.items() if id_ in ids}
        if kept_numbers:
            self.numbers_by_source[source] = kept_numbers
        else:
            self.numbers_by_source.pop(source, None)
        for id_ in numbers.keys() - kept_numbers.keys():
            self.release_passage(source, id_)

    def release_passage(self, source: str, id_: str) -> None:
        """Record that a document no longer holds a passage. A passage that no document holds is removed."""
        if id_ not in self.entries:  # the embeddings have refused its text
            return
        entry = self.entries[id_].remove_document(source)
        if entry.position_by_document:
            self.change_entry(id_, entry)
            if len(self.outdated_ids) >= PASSAGES_PER_BATCH:
                self.flush()
        else:
            del self.entries[id_]
            self.new_passages.pop(id_, None)
            self.removed_ids[id_] = None

    def change_entry(self, id_: str, entry: PassageEntry) -> None:
        """Record the new metadata of a passage. With another context, it must be embedded again."""
        if self.context and entry.context != self.entries[id_].context:
            self.outdated_ids[id_] = None
        self.entries[id_] = entry
        self.changed_entries[id_] = None

    def set_contexts(self) -> None:
        """Give the new passages the contexts of their entries, and let those whose context has changed be new, too."""
        ids = [id_ for id_ in self.outdated_ids if id_ in self.entries and id_ not in self.new_passages]
        self.outdated_ids.clear()
        for passage in self.read_stored_passages(ids) if ids else ():
            self.new_passages[passage["id"]] = passage
            self.replaced_ids.add(passage["id"])
        for id_, passage in self.new_passages.items():
            self.new_passages[id_] = add_context(hide_context(passage), self.entries[id_].context)

    def flush(self, removed_ids: Iterable[str] = ()) -> None:
        """Embed and store the new passages, store the changed entries, and remove the passages of `removed_ids`."""
        if self.context:
            self.set_contexts()
        updated_entries = [
            (id_, self.entries[id_])
            for id_ in self.changed_entries
            if id_ in self.entries and id_ not in self.new_passages
        ]
        changes = Changes(self.embed_new_passages(), updated_entries, list(removed_ids), self.replaced_ids)
        if self.kinds is not None:
            for entry in (*(entry for _, entry, _ in changes.passages), *(entry for _, entry in changes.entries)):
                add_kinds(self.kinds, entry)
        if changes.passages or changes.entries or changes.removed_ids:
            self.start_write(is_being_changed=True, changes=changes)
        if self.copy_finder is not None:
            self.copy_finder.remember(self.new_passages)
        self.replaced_ids = set()
        self.new_passages.clear()
        self.changed_entries.clear()

    def embed_new_passages(self) -> list[tuple[Passage, PassageEntry, Sequence[float]]]:
        """The new passages with their entries and vectors. Creates the collection if it does not exist yet."""
        model = self.get_model() if self.new_passages else None
        vectors: list[list[float]] = []
        while model is not None and self.new_passages and not vectors:
            try:
                vectors = embed_texts(model, [make_indexed_text(passage) for passage in self.new_passages.values()])
            except TextsRefused as refusal:
                self.leave_out(refusal.reasons)
        if not vectors:
            return []
        size = len(vectors[0])
        if self.info is None:
            self.info = CollectionInfo(
                self.embedding,
                size,
                sample_hash=self.sample_hash,
                format=FORMAT_VERSION,
                made_for=self.made_for,
                made_from=self.made_from,
                context=self.context,
            ).with_new_revision(is_being_changed=True)
            by_dot = getattr(model, "similarity", None) == "dot"
            self.store.create(self.name, self.info, "dot" if by_dot else "cosine")
        if size != self.info.dimension:
            raise SetupError(
                f"The collection {self.name!r} holds vectors of {self.info.dimension} numbers, but the embeddings "
                f"{self.embedding!r} give {size}; give another collection."
            )
        return [(p, self.entries[i], vector) for (i, p), vector in zip(self.new_passages.items(), vectors, strict=True)]

    def leave_out(self, reasons: Mapping[str, str]) -> None:
        """Forget new passages whose text the embeddings refuse. reasons: text -> why."""
        for id_, passage in list(self.new_passages.items()):
            reason = reasons.get(make_indexed_text(passage))
            if reason is None:
                continue
            del self.new_passages[id_]
            self.removed_ids[id_] = None  # an earlier text may be stored under this id
            for source in self.entries.pop(id_).position_by_document:
                self.numbers_by_source.get(source, {}).pop(id_, None)
                self.refused.append((source, f"a passage is left out, because the embeddings refuse it: {reason}"))

    def start_write(self, is_being_changed: bool, changes: Changes | None = None) -> None:
        """Begin to store the collection's metadata with a new revision, and the changes, on the writer's thread."""
        if self.info is not None:
            keys = None if self.kinds is None else format_kinds(self.kinds)
            self.info = replace(self.info, keys=keys).with_new_revision(is_being_changed)
            self.writer.start(partial(self.store.write, self.name, self.info, changes))

    def read_stored_passages(self, ids: list[str]) -> list[Passage]:
        """The stored passages of these ids."""
        self.writer.wait()
        return self.store.fetch_passages_by_id(self.name, ids)

    def close(self) -> None:
        """Wait until the current batch is stored."""
        self.writer.close()

    @property
    def copy_count(self) -> int:
        """The number of passages that are not stored because another document has (nearly) the same passage."""
        return sum(len(entry.position_by_document) - 1 for entry in self.entries.values())

    def finish(self, sample_hash: str | None = None) -> int:
        """Store the rest, remove old passages, mark the collection as finished. Returns how many passages it has.

        sample_hash: replaces the stored one. For the sample collection, the hash of its files; for any other, None.
        """
        self.flush(removed_ids=self.removed_ids)
        if self.info is None:
            return 0
        self.kinds = {}
        for entry in self.entries.values():
            add_kinds(self.kinds, entry)
        # The collection has the new format only if this run has read all its documents again.
        has_read_all = self.numbers_by_source.keys() <= self.sources_in_this_run
        format_ = FORMAT_VERSION if has_read_all else self.info.format
        finished_info = replace(
            self.info,
            sample_hash=sample_hash,
            files=len(self.numbers_by_source),
            format=format_,
            keys=format_kinds(self.kinds),
        )
        if self.made_for is None:  # the collection is the user's own from now on
            finished_info = replace(finished_info, made_for=None, made_from=None)
        if self.info.is_being_changed or finished_info != self.info:
            self.info = finished_info
            self.start_write(is_being_changed=False)
        self.writer.wait()
        return self.store.count_passages(self.name)


def has_new_metadata(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> bool:
    """Whether the metadata of a location have changed; False if they were never stored, as in older collections."""
    old_metadata = (old or {}).get("metadata") or {}
    return "source" in old_metadata and old_metadata != (new or {}).get("metadata")
