"""Indexes in memory: when they are made anew, and for whom their making is waited for."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from openai_server import LONGEST_WAIT
from wordvectors import WordVectors

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.retrievers import search
from quorum.retrievers.index import index_passages
from quorum.retrievers.index_cache import REBUILD_SECONDS, LoadedIndexes
from quorum.retrievers.metadata import CollectionInfo

FINISHED = CollectionInfo(embedding="e", dimension=2, revision="r0")
VECTORS = WordVectors(64)


class CountedIndexes:
    """Indexes that say how many were made before them. time: what the clock shows, in seconds."""

    def __init__(self) -> None:
        self.time, self.made_count = 100.0, 0
        self.indexes: LoadedIndexes[int] = LoadedIndexes(most=2, now=lambda: self.time)

    def get(self, info: CollectionInfo, key: str = "a") -> int:
        return self.indexes.get(key, info, self.make(info))

    def make(self, info: CollectionInfo) -> Callable[[], tuple[str, int]]:
        def make() -> tuple[str, int]:
            self.made_count += 1
            return info.revision, self.made_count

        return make


def test_while_documents_come_in_an_index_is_made_every_few_seconds_and_at_the_end() -> None:
    counted, info = CountedIndexes(), FINISHED
    assert counted.get(info) == 1
    counted.time += 2 * REBUILD_SECONDS
    for _ in range(17):
        info = info.with_new_revision(is_being_changed=True)
        counted.time += 0.4 * REBUILD_SECONDS
        counted.get(info)
    assert counted.made_count == 1 + 6  # every third search of the 17
    counted.time += 0.1
    finished_info = info.with_new_revision(is_being_changed=False)
    assert counted.get(finished_info) == counted.get(finished_info) == 8


def test_the_indexes_used_last_stay_in_memory() -> None:
    counted = CountedIndexes()
    assert [counted.get(FINISHED, key) for key in "abacab"] == [1, 2, 1, 3, 1, 4]
    counted.indexes.clear()
    assert counted.get(FINISHED, "a") == 5


def test_the_making_of_one_index_delays_no_search_for_another() -> None:
    counted, begun, may_end = CountedIndexes(), threading.Event(), threading.Event()

    def make_slowly() -> tuple[str, int]:
        begun.set()
        assert may_end.wait(LONGEST_WAIT)
        return FINISHED.revision, -1

    slow = threading.Thread(target=counted.indexes.get, args=("slow", FINISHED, make_slowly))
    slow.start()
    assert begun.wait(LONGEST_WAIT)
    assert counted.get(FINISHED, "quick") == 1  # would wait for ever if there were one lock for all
    may_end.set()
    slow.join()
    assert counted.get(FINISHED, "slow") == -1


def test_of_the_searches_that_wait_one_makes_the_index_for_all() -> None:
    """The collection changes before the index is made, so its revision is later than the one they all asked for."""
    counted, asked, ticks = CountedIndexes(), threading.Semaphore(0), iter(range(1000))

    def tell_time() -> float:
        asked.release()
        return float(next(ticks))

    counted.indexes.now = tell_time
    make_later = counted.make(replace(FINISHED, revision="r1"))
    threads = [threading.Thread(target=counted.indexes.get, args=("a", FINISHED, make_later)) for _ in range(3)]
    with counted.indexes.find("a").lock:
        for thread in threads:
            thread.start()
        for _ in threads:
            assert asked.acquire(timeout=LONGEST_WAIT)
    for thread in threads:
        thread.join()
    assert counted.made_count == 1


async def test_a_search_after_indexing_has_ended_sees_everything(tmp_path: Path) -> None:
    context = Context(store=str(tmp_path), collection="facts", embeddings=VECTORS, retriever="bm25", k=400)
    animals = [Passage(id=str(i), title="", text=f"The otter {i} swims.") for i in range(300)]
    for count in (1, 150, 300):
        index_passages(animals[:count], collection="facts", store=tmp_path, embeddings=VECTORS)
        assert len(await search("otter", context)) == count
