"""BM25 in a running server: who waits for an index, and how often one is made while documents come in."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from api_server import Serve
from filelock import FileLock
from openai_server import OpenAIServer
from wordvectors import WordVectors

from quorum.core.state import Passage
from quorum.retrievers.bm25_cache import LOADED_INDEXES
from quorum.retrievers.index import index_passages
from quorum.retrievers.index_cache import make_index_folder
from quorum.retrievers.ledger import PASSAGES_PER_BATCH
from quorum.retrievers.store import open_store

QUERIES = 17
ANIMALS = [
    Passage(id=str(number), title="", text=f"The otter {number} swims.")
    for number in range((QUERIES + 1) * PASSAGES_PER_BATCH)
]


def test_while_documents_come_in_the_index_is_made_every_few_seconds_and_once_at_the_end(
    serve: Serve, tmp_path: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai_server.reply("an otter")
    api = serve(store=str(tmp_path / "store"), collection="animals", k=1)
    monkeypatch.setattr(LOADED_INDEXES, "now", lambda: 100.0)  # its clock stands still: all this happens at once
    answered: list[str] = []
    revisions: set[str] = set()

    def ask(done: int, total: int, source: str) -> None:
        if done % PASSAGES_PER_BATCH == 0 and done > PASSAGES_PER_BATCH and len(answered) < QUERIES:
            revisions.add(open_store(tmp_path / "store").fetch_revised_info("animals").revision)
            answered.append(api.ask("Which otter swims?").choices[0].message.content)

    made_before = LOADED_INDEXES.made_count
    index_passages(ANIMALS, collection="animals", store=tmp_path / "store", embeddings=WordVectors(8), progress=ask)
    assert len(answered) == QUERIES
    assert len(revisions) >= QUERIES // 2  # of two searches, at least one found the collection changed
    assert LOADED_INDEXES.made_count - made_before == 1
    found = api.ask(f"otter {len(ANIMALS) - 1}").model_dump_json()
    assert LOADED_INDEXES.made_count - made_before == 2
    assert f"The otter {len(ANIMALS) - 1} swims." in found


def test_the_build_of_one_collections_index_stops_no_search_of_another(
    serve: Serve, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply("an otter")
    store = tmp_path / "store"
    for name in ("slow", "quick"):
        index_passages(ANIMALS[:3], collection=name, store=store, embeddings=WordVectors(8))
    api = serve(store=str(store), collection="quick", collections=("slow",), k=1)
    lock = FileLock(make_index_folder(open_store(store), "bm25", "slow") / "lock")
    with ThreadPoolExecutor(1) as pool:
        with lock:  # as another process holds it that builds the index
            slow_answer = pool.submit(api.ask, "Which otter swims?", "concat@slow")
            for _ in range(3):
                assert "an otter" in str(api.ask("Which otter swims?", "concat"))
            assert not slow_answer.done()
        assert "an otter" in str(slow_answer.result(60))
