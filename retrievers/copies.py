"""Finds a stored passage that contains all words of a new one (see `quorum.documents.duplicates`)."""

from collections.abc import Callable, Iterator, Mapping

from quorum.core.state import Passage
from quorum.documents.duplicates import contains_all, is_comparable, make_sketch, read_words
from quorum.retrievers.metadata import Entry

MOST_LOOKED_AT = 5  # stored passages that are compared with a new one
LEAST_SHARED = 2  # two passages are compared if their sketches share this many hashes


class CopyFinder:
    """The sketches of a collection's passages. fetch: ids -> the stored passages."""

    def __init__(self, entries: Mapping[str, Entry], fetch: Callable[[list[str]], list[Passage]]) -> None:
        self.entries, self.fetch = entries, fetch
        self.ids: dict[int, list[str]] = {}
        for id_, entry in entries.items():
            self.add(id_, entry)

    def add(self, id_: str, entry: Entry) -> None:
        for number in entry.sketch:
            self.ids.setdefault(number, []).append(id_)

    def find_kept_passage(self, passage: Passage, source: str, waiting: Mapping[str, Passage]) -> str | None:
        """The id of another document's passage that contains all words of this one; None if there is none.

        source: this passage's document. waiting: passages that are not stored yet.
        """
        if not is_comparable(passage):
            return None
        near = [id_ for id_ in self.find_similar(passage) if self.entries[id_].is_held_exactly(without=source)]
        if not near:
            return None
        stored = [id_ for id_ in near if id_ not in waiting]
        texts = {one["id"]: one for one in (self.fetch(stored) if stored else [])}
        said = read_words(passage)
        found = (
            id_ for id_ in near if (one := waiting.get(id_) or texts.get(id_)) and contains_all(read_words(one), said)
        )
        return next(found, None)

    def find_similar(self, passage: Passage) -> Iterator[str]:
        """The ids of passages whose sketches share enough hashes, those that share most first."""
        shared: dict[str, int] = {}
        for number in make_sketch(passage):
            for id_ in self.ids.get(number, ()):
                if id_ in self.entries and id_ != passage["id"]:
                    shared[id_] = shared.get(id_, 0) + 1
        likely = [id_ for id_, count in shared.items() if count >= LEAST_SHARED]
        yield from sorted(likely, key=lambda id_: -shared[id_])[:MOST_LOOKED_AT]
