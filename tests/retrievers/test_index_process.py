"""Several processes use one store: an indexer that is killed, a search while another process indexes, two indexers."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from retriever_names import PLAIN_RETRIEVERS
from wordvectors import WordVectors

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.retrievers import collections, search
from quorum.retrievers.index import index_documents
from quorum.retrievers.store import open_store

ROOT = Path(__file__).parents[2]
VECTORS = WordVectors()
INDEXING_SCRIPT = """
import os, signal, sys
sys.path[:0] = sys.argv[1:3]
from quorum.retrievers.index import index_documents
from wordvectors import WordVectors

def progress(done, total, path):
    if done == int(sys.argv[5]):
        os.kill(os.getpid(), signal.SIGKILL)

index_documents([sys.argv[3]], collection="docs", store=sys.argv[4], embeddings=WordVectors(), progress=progress)
"""


def start_indexer(docs: Path, store: Path, killed_after: int = 0) -> subprocess.Popen[bytes]:
    """Another process that indexes `docs`. SIGKILL ends it after `killed_after` documents; 0: it is not killed."""
    arguments = [str(ROOT), str(ROOT / "tests"), str(docs), str(store), str(killed_after)]
    return subprocess.Popen([sys.executable, "-c", INDEXING_SCRIPT, *arguments])


def write_documents(docs: Path, word: str, count: int) -> None:
    """Write `count` documents of five passages each about `word`. They replace the documents written before."""
    docs.mkdir(exist_ok=True)
    for n in range(count):
        text = " ".join(f"Sentence {i} of text {n} is about the {word} and ends here." for i in range(36))
        (docs / f"{n:02}.md").write_text(f"# Text {n}\n\n{text}")


def read_contents(store: Path) -> list[Passage]:
    return collections.list_passages(Context(store=str(store), collection="docs", embeddings=VECTORS))


@pytest.mark.long
async def test_indexing_continued_after_a_kill_gives_the_same_collection_as_an_unbroken_run(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    write_documents(docs, "river", 60)
    index_documents([docs], collection="docs", store=tmp_path / "whole", embeddings=VECTORS)
    assert start_indexer(docs, tmp_path / "store", killed_after=40).wait() == -signal.SIGKILL
    assert open_store(tmp_path / "store").fetch_info("docs").is_being_changed
    assert 0 < len(read_contents(tmp_path / "store")) < len(read_contents(tmp_path / "whole"))
    report = index_documents([docs], collection="docs", store=tmp_path / "store", embeddings=VECTORS)
    assert report.passages == len(read_contents(tmp_path / "whole"))
    assert read_contents(tmp_path / "store") == read_contents(tmp_path / "whole")
    assert not open_store(tmp_path / "store").fetch_info("docs").is_being_changed
    for kind in PLAIN_RETRIEVERS:
        context = Context(collection="docs", embeddings=VECTORS, retriever=kind, k=1000)
        question = "Sentence 7 of text 41"
        passages = await search(question, Context(**vars(context) | {"store": str(tmp_path / "store")}))
        expected = await search(question, Context(**vars(context) | {"store": str(tmp_path / "whole")}))
        assert sorted(passage["id"] for passage in passages) == sorted(passage["id"] for passage in expected)
        assert passages[0]["score"] == pytest.approx(expected[0]["score"], abs=1e-6)


@pytest.mark.long
async def test_questions_are_answered_while_another_process_indexes(tmp_path: Path) -> None:
    """Every search gets whole passages, and the first search after the indexing finds only the new texts."""
    docs, store = tmp_path / "docs", tmp_path / "store"
    write_documents(docs, "river", 20)
    index_documents([docs], collection="docs", store=store, embeddings=VECTORS)
    context = Context(store=str(store), collection="docs", embeddings=VECTORS, k=20)
    await search("river", context)
    write_documents(docs, "tiger", 20)
    process = start_indexer(docs, store)
    search_count = 0
    while process.poll() is None:
        passages = await search("the river and the tiger", context)
        assert len({passage["id"] for passage in passages}) == 20
        assert all(passage["text"] and passage["title"] for passage in passages)
        search_count += 1
    assert process.wait() == 0
    assert search_count > 0
    for kind in PLAIN_RETRIEVERS:
        passages = await search("the tiger", Context(**vars(context) | {"retriever": kind, "k": 500}))
        assert len(passages) == len(read_contents(store))
        assert all("tiger" in passage["text"] and "river" not in passage["text"] for passage in passages)


@pytest.mark.long
def test_two_indexers_at_once_store_every_passage(tmp_path: Path) -> None:
    docs, store = tmp_path / "docs", tmp_path / "store"
    write_documents(docs, "river", 20)
    indexers = [start_indexer(docs, store), start_indexer(docs, store)]
    assert [process.wait() for process in indexers] == [0, 0]
    index_documents([docs], collection="docs", store=tmp_path / "whole", embeddings=VECTORS)
    assert read_contents(store) == read_contents(tmp_path / "whole")
