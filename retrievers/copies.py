"""Finds a stored passage of which a new passage is only a copy (see `quorum.documents.duplicates`)."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TypeVar

from quorum.core.state import Passage
from quorum.documents.duplicates import (
    PassageWords,
    is_copy,
    is_possible_copy,
    make_sketch,
    normalize_headings,
    normalize_title,
    read_words,
)
from quorum.retrievers.metadata import PassageEntry

T = TypeVar("T")

MAX_COMPARED = 5  # stored passages whose words are compared with those of one new passage
MIN_SHARED_HASHES = 2  # two passages are compared if their sketches share this many hashes
MAX_PASSAGES_PER_HASH = 64  # passages that are counted for one hash; thousands of filled-in forms share their hashes
MAX_CACHED = 2000  # stored passages that are kept in memory; the words of as many passages are kept as well


class CopyFinder:
    """Finds copies by the sketches of a collection's passages.

    entries: passage id -> entry; fetch: reads the stored passages with the given ids.
    """

    def __init__(self, entries: Mapping[str, PassageEntry], fetch: Callable[[list[str]], list[Passage]]) -> None:
        self.entries, self.fetch = entries, fetch
        self.ids_of_hash: dict[int, list[str]] = {}
        self.passages: OrderedDict[str, Passage] = OrderedDict()
        self.words: OrderedDict[str, PassageWords] = OrderedDict()
        for id_, entry in entries.items():
            self.add(id_, entry)

    def add(self, id_: str, entry: PassageEntry) -> None:
        """Add a passage's sketch."""
        for hash_ in entry.sketch:
            self.ids_of_hash.setdefault(hash_, []).append(id_)

    def remember(self, passages: Mapping[str, Passage]) -> None:
        """Cache passages that have just been stored, because similar ones often follow."""
        for id_, passage in passages.items():
            put_into_cache(self.passages, id_, passage)

    def find_containing_passage(self, passage: Passage, source: str, new_passages: Mapping[str, Passage]) -> str | None:
        """The id of a passage of another document of which this passage is a copy (see `is_copy`); None if there is
        none.

        source: this passage's document. new_passages: by id, the passages that are not stored yet.
        """
        if not is_possible_copy(passage):
            return None
        likely_ids = self.find_similar(passage)
        if not likely_ids:
            return None
        passage_words = read_words(passage)
        fitting_ids = (id_ for id_ in likely_ids if is_possible_original(self.entries[id_], passage_words, source))
        compared_ids = list(islice(fitting_ids, MAX_COMPARED))
        words_by_id = self.load_words(compared_ids, new_passages)
        return next(
            (id_ for id_ in compared_ids if id_ in words_by_id and is_copy(passage_words, words_by_id[id_])),
            None,
        )

    def find_similar(self, passage: Passage) -> list[str]:
        """The ids of passages whose sketches share enough hashes, those that share most first."""
        sketch = make_sketch(passage)
        if not sketch:
            return []
        *run_hashes, whole_hash = sketch  # hashes of runs of five words, and the hash of all words
        shared_counts: dict[str, int] = {}
        for hash_ in run_hashes:
            for id_ in self.ids_of_hash.get(hash_, ())[:MAX_PASSAGES_PER_HASH]:
                shared_counts[id_] = shared_counts.get(id_, 0) + 1
        # Passages with the same hash of all words have exactly the new passage's words, so they come first.
        for id_ in self.ids_of_hash.get(whole_hash, ())[:MAX_PASSAGES_PER_HASH]:
            shared_counts[id_] = len(run_hashes) + 1
        likely_ids = [id_ for id_, count in shared_counts.items() if count >= MIN_SHARED_HASHES and id_ in self.entries]
        return sorted((id_ for id_ in likely_ids if id_ != passage["id"]), key=lambda id_: -shared_counts[id_])

    def load_words(self, ids: list[str], new_passages: Mapping[str, Passage]) -> dict[str, PassageWords]:
        """passage id -> the passage's words. Ids of passages that are neither stored nor new are left out."""
        words_of_id = {id_: self.words[id_] for id_ in ids if id_ in self.words}
        uncached_ids = [id_ for id_ in ids if id_ not in words_of_id]
        found_passages = [
            passage for id_ in uncached_ids if (passage := new_passages.get(id_) or self.passages.get(id_))
        ]
        if stored_ids := [id_ for id_ in uncached_ids if id_ not in new_passages and id_ not in self.passages]:
            found_passages += self.fetch(stored_ids)
        words_of_id |= {passage["id"]: read_words(passage) for passage in found_passages}
        for id_, words in words_of_id.items():
            put_into_cache(self.words, id_, words)
        return words_of_id


def is_possible_original(entry: PassageEntry, words: PassageWords, source: str) -> bool:
    """Whether a new passage may be a copy of a stored passage. `entry` describes the stored one, `words` the new one.

    The stored passage must have the new passage's title and headings, if the new passage has any. One stored
    passage can stand for passages of several documents whose texts differ a little. At least one of these documents,
    other than `source` (the new passage's document), must hold exactly the stored text.
    """
    return (
        words.title in ("", normalize_title(entry.title))
        and words.headings in ("", normalize_headings(entry.headings))
        and entry.has_exact_text_outside(source)
    )


def put_into_cache(cache: OrderedDict[str, T], key: str, value: T) -> None:
    """Put a value into a cache that keeps the MAX_CACHED values that were put last."""
    cache[key] = value
    cache.move_to_end(key)
    while len(cache) > MAX_CACHED:
        cache.popitem(last=False)
