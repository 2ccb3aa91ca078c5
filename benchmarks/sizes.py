"""What storing and finding a passage costs: python -m benchmarks.sizes [--passages FILE] [--sizes 5000,20000]

Measured for each number of passages (if the real ones are too few, the rest is generated): the bytes of the Chroma
collection and of the BM25 index on disk and in memory, the processor time to store the collection and to build the
index, and the milliseconds of a search. The stored vectors are random, because that does not change the time of a
search. The processor time to embed is measured once, on at most 256 passages. Bytes, store_ms and embed_ms are per
passage. The other milliseconds are per search: of processor time in chroma_cpu_ms and bm25_cpu_ms, by the clock in
chroma_ms and bm25_ms. chroma_prepare_s is the processor time of the first search, which loads the index; bm25_prepare_s
is that of building the index from the collection and saving it. Processor time depends less on other load than clock
time does. docs/scale.md calculates from these numbers.
"""

import argparse
import asyncio
import gc
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import read_sample_passages, report
from benchmarks.searching import RandomEmbeddings, generate_passages, make_queries
from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.datasets.records import read_passages
from quorum.models import embeddings
from quorum.retrievers import search
from quorum.retrievers.bm25_cache import load_bm25_index
from quorum.retrievers.index import index_passages
from quorum.retrievers.passages import make_indexed_text
from quorum.retrievers.store import open_store

PASSAGES_TO_EMBED = 256
Figures = dict[str, Any]  # {what was measured: its value}


def measure_memory() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])


def time_work(work: Callable[[], Any]) -> float:
    """The processor seconds that the work takes."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def measure_folder(folder: Path) -> int:
    """The bytes of all files in the folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure_collection(passages: list[Passage], folder: Path) -> Figures:
    """The size of the collection on disk, and the processor time to write it, both per passage."""
    settings: dict[str, Any] = {"collection": "bench", "store": folder, "embeddings": RandomEmbeddings()}
    seconds = time_work(lambda: index_passages(passages, **settings))
    return {
        "store_ms": 1000 * seconds / len(passages),
        "chroma_disk_bytes": measure_folder(folder / "chroma") / len(passages),
    }


def measure_search(passages: list[Passage], folder: Path, retriever: str) -> Figures:
    """The memory and processor time that a fresh process takes until the index can answer, and the time of a search.

    A first search loads the index of Chroma. The BM25 index is built from the collection and saved, without a search.

    folder: where `measure_collection` stored the passages; retriever: "chroma" or "bm25".
    """
    context = Context(
        store=str(folder), collection="bench", embeddings=RandomEmbeddings(), retriever=retriever, k=5, journal="off"
    )
    queries = make_queries(passages, 51)
    # A search in another collection, and one embedding: what they import and load must not be measured.
    asyncio.run(search(queries[0], Context(retriever="bm25", journal="off", store=str(folder / "other"))))
    context.embeddings.embed_query("")  # type: ignore[union-attr]
    before = measure_memory()
    if retriever == "bm25":
        prepare_seconds = time_work(lambda: load_bm25_index(open_store(str(folder)), "bench"))
    else:
        prepare_seconds = time_work(lambda: asyncio.run(search(queries[0], context)))
    memory = measure_memory() - before
    cpu_ms, clock_ms = [], []
    for query in queries:
        begin = time.perf_counter()
        cpu_ms.append(1000 * time_work(lambda query=query: asyncio.run(search(query, context))))  # type: ignore[misc]
        clock_ms.append(1000 * (time.perf_counter() - begin))
    figures = {
        "memory_bytes": memory / len(passages),
        "prepare_s": prepare_seconds,
        "cpu_ms": statistics.median(cpu_ms),
        "ms": statistics.median(clock_ms),
    }
    return {f"{retriever}_{name}": value for name, value in figures.items()}


def run_alone(work: Callable[..., Figures], *arguments: Any) -> Figures:
    """What `work(*arguments)` returns, computed in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        figures = pool.apply(work, arguments)
        pool.close()
        pool.join()
        return figures


def measure_all(passages: list[Passage]) -> Figures:
    """The figures of one number of passages: one column of the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures: Figures = {"passages": len(passages)} | run_alone(measure_collection, passages, folder)
        figures |= run_alone(measure_search, passages, folder, "chroma") | run_alone(
            measure_search, passages, folder, "bm25"
        )
        return figures | {"bm25_disk_bytes": measure_folder(folder / "bm25") / len(passages)}


def measure_embedding(passages: list[Passage]) -> Figures:
    """The mean processor milliseconds to embed a passage, and the mean number of words of a passage."""
    model, texts = embeddings("embedded"), [make_indexed_text(passage) for passage in passages[:PASSAGES_TO_EMBED]]
    model.embed_documents(texts[:8])
    seconds = time_work(lambda: model.embed_documents(texts))
    words = statistics.mean(len(text.split()) for text in texts)
    return {"embed_ms": 1000 * seconds / len(texts), "words": words}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=Path, help='JSON lines of {"id", "title", "text"}')
    parser.add_argument("--sizes", default="5000,20000", help="numbers of passages, separated by commas")
    options = parser.parse_args()
    source_passages = read_passages(options.passages) if options.passages else read_sample_passages()
    embedding_figures = run_alone(measure_embedding, source_passages)
    runs = [measure_all(list(generate_passages(int(size), source_passages))) for size in options.sizes.split(",")]
    rows = [[name, *(f"{figures[name]:,.2f}" for figures in runs)] for name in runs[0]]
    rows += [[name, f"{value:,.2f}"] + [""] * (len(runs) - 1) for name, value in embedding_figures.items()]
    header = ["", *(str(figures["passages"]) for figures in runs)]
    report("sizes", header, rows, runs=runs, embedding=embedding_figures)


if __name__ == "__main__":
    main()
