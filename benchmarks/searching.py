"""How fast a corpus is indexed and searched: python -m benchmarks.searching [--passages FILE] [--store FOLDER]

Measures two corpora: the passages of a file of JSON lines (without one, passages made from the sample), and 100,000
passages made from the first corpus. Measures passages per second of the BM25 index, and milliseconds per query by
chroma, bm25 and hybrid (the median of 100 after a first one). Targets: 20,000 passages per second; 10, 10 and 20 ms.
Also states the seconds in which a new collection is written, and the 95th percentile of the queries.
For chroma and hybrid, a query's time includes embedding the question with the embedded model. The stored vectors are
random, because that does not change the time of a search; with --embed the embedded model makes them, which takes
minutes (for its speed see benchmarks.embedded).

With --store the collections stay in a folder, and the next run with that folder searches them again.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from benchmarks.harness import judge_targets, read_sample_passages, report
from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.datasets.records import read_passages
from quorum.models import embeddings
from quorum.retrievers import search
from quorum.retrievers.bm25 import BM25Index
from quorum.retrievers.index import index_passages
from quorum.retrievers.store import open_store

GENERATED_COUNT, LARGER_COUNT = 45_527, 100_000  # passages of the first corpus (without --passages), and of the second
TARGETS = {"chroma": 10.0, "bm25": 10.0, "hybrid": 20.0}  # by retriever, the most milliseconds of a median query
TARGET_RATE = 20_000  # passages per second of the BM25 index
DIMENSION = 384  # of the embedded model's vectors


class RandomEmbeddings(Embeddings):
    """Random vectors for passages, the embedded model's for questions."""

    def __init__(self) -> None:
        self.question_embeddings = embeddings("embedded")
        self.rng = np.random.default_rng(0)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors = self.rng.normal(size=(len(texts), DIMENSION))
        unit_vectors: list[list[float]] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).tolist()
        return unit_vectors

    def embed_query(self, text: str) -> list[float]:
        return self.question_embeddings.embed_query(text)


def generate_passages(count: int, passages: list[Passage]) -> Iterator[Passage]:
    """`count` passages: the given ones first, then new ones. Each new one has a hundred words, drawn from the texts of
    two random given passages.
    """
    rng = random.Random(0)
    words = [passage["text"].split() for passage in passages]
    yield from passages[:count]
    for number in range(len(passages), count):
        pool = rng.choice(words) + rng.choice(words)
        text = " ".join(rng.choice(pool) for _ in range(100))
        yield Passage(id=f"made-{number}", title=f"Made {number}", text=text)


def make_queries(passages: list[Passage], count: int) -> list[str]:
    """Questions, each made of ten words of one passage."""
    rng = random.Random(1)
    texts = (rng.choice(passages)["text"].split() for _ in range(count))
    return [" ".join(rng.sample(words, min(10, len(words)))) for words in texts]


async def time_searches(context: Context, queries: list[str]) -> list[float]:
    """Milliseconds of each search but the first, which also opens and loads the index."""
    milliseconds = []
    for query in queries:
        begin = time.perf_counter()
        await search(query, context)
        milliseconds.append(1000 * (time.perf_counter() - begin))
    return milliseconds[1:]


def measure_corpus(
    passages: list[Passage], queries: list[str], store: str, chosen_embeddings: str | Embeddings
) -> dict[str, Any]:
    """Time the BM25 index, the writing of the collection (unless the store holds it already) and the queries.

    Returns the figures by their names: a row of the table.
    """
    BM25Index(passages[:10])  # imports what it needs, which must not be timed
    begin = time.perf_counter()
    BM25Index(passages)
    rate = len(passages) / (time.perf_counter() - begin)
    figures: dict[str, Any] = {"passages": len(passages), "bm25_per_second": round(rate), "index_s": None}
    name = f"{'embedded' if isinstance(chosen_embeddings, str) else 'random'}-{len(passages)}"
    info = open_store(store).find_info(name)
    if info is None or info.is_being_changed:  # new, or stopped while it was written
        begin = time.perf_counter()
        index_passages(passages, collection=name, store=store, embeddings=chosen_embeddings)
        figures["index_s"] = round(time.perf_counter() - begin, 1)
    for retriever in TARGETS:
        context = Context(
            store=store, collection=name, embeddings=chosen_embeddings, retriever=retriever, k=5, journal="off"
        )
        times = asyncio.run(time_searches(context, queries))
        figures[f"{retriever}_ms"] = round(statistics.median(times), 2)
        figures[f"{retriever}_p95_ms"] = round(sorted(times)[int(len(times) * 0.95)], 2)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=Path, help='JSON lines of {"id", "title", "text"}')
    parser.add_argument(
        "--sizes",
        default="",
        help=f"sizes of the corpora in passages, separated by commas; default: the first corpus, and {LARGER_COUNT}",
    )
    parser.add_argument("--queries", type=int, default=101, help="at least 2; the first query is not counted")
    parser.add_argument("--store", help="a folder that keeps the collections for another run")
    parser.add_argument("--embed", action="store_true", help="embed the passages instead of storing random vectors")
    options = parser.parse_args()
    first_passages = (
        read_passages(options.passages)
        if options.passages
        else list(generate_passages(GENERATED_COUNT, read_sample_passages()))
    )
    sizes = [int(size) for size in options.sizes.split(",") if size] or [len(first_passages), LARGER_COUNT]
    chosen_embeddings: str | Embeddings = "embedded" if options.embed else RandomEmbeddings()
    runs = []
    with nullcontext(options.store) if options.store else tempfile.TemporaryDirectory() as store:
        for size in sizes:
            passages = list(generate_passages(size, first_passages))
            runs.append(
                measure_corpus(passages, make_queries(first_passages, options.queries), store, chosen_embeddings)
            )
    rows = [list(figures.values()) for figures in runs]
    conditions = {
        f"{retriever} at {figures['passages']}": figures[f"{retriever}_ms"] <= max_ms
        for figures in runs
        for retriever, max_ms in TARGETS.items()
    }
    conditions |= {
        f"bm25 index of {figures['passages']}": figures["bm25_per_second"] >= TARGET_RATE for figures in runs
    }
    report("searching", list(runs[0]), rows, runs=runs, **judge_targets(conditions))


if __name__ == "__main__":
    main()
