"""Which stored passage already says what a new one says (see `quorum.documents.duplicates`)."""

from collections.abc import Callable, Iterator, Mapping

from quorum.core.state import Passage
from quorum.documents.duplicates import is_comparable, said_by, says_all, sketch_of
from quorum.retrievers.metadata import Entry

MOST_LOOKED_AT = 5  # passages that may say the same
LEAST_SHARED = 2  # shared smallest hashes from which two passages' texts are compared


class Copies:
    """The sketches of a collection's passages. `fetch`: ids -> the passages as they are stored."""

    def __init__(self, entries: Mapping[str, Entry], fetch: Callable[[list[str]], list[Passage]]) -> None:
        self.entries, self.fetch = entries, fetch
        self.ids: dict[int, list[str]] = {}
        for id_, entry in entries.items():
            self.add(id_, entry)

    def add(self, id_: str, entry: Entry) -> None:
        for number in entry.sketch:
            self.ids.setdefault(number, []).append(id_)

    def kept_for(self, passage: Passage, source: str, waiting: Mapping[str, Passage]) -> str | None:
        """The id of a passage that says all that this one says, held by another document; None: there is none.

        waiting: passages that are not stored yet.
        """
        if not is_comparable(passage):
            return None
        near = [id_ for id_ in self.near(passage) if self.entries[id_].is_held_exactly(without=source)]
        if not near:
            return None
        stored = [id_ for id_ in near if id_ not in waiting]
        texts = {one["id"]: one for one in (self.fetch(stored) if stored else [])}
        said = said_by(passage)
        found = (id_ for id_ in near if (one := waiting.get(id_) or texts.get(id_)) and says_all(said_by(one), said))
        return next(found, None)

    def near(self, passage: Passage) -> Iterator[str]:
        """Passages that share enough of the smallest hashes, those that share more first."""
        shared: dict[str, int] = {}
        for number in sketch_of(passage):
            for id_ in self.ids.get(number, ()):
                if id_ in self.entries and id_ != passage["id"]:
                    shared[id_] = shared.get(id_, 0) + 1
        likely = [id_ for id_, count in shared.items() if count >= LEAST_SHARED]
        yield from sorted(likely, key=lambda id_: -shared[id_])[:MOST_LOOKED_AT]
