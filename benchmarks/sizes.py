"""What a passage costs to keep and to find: python -m benchmarks.sizes [--passages FILE] [--sizes 5000,20000]

For each size, over real passages or as many generated ones: bytes on disk and in memory of the Chroma collection and of
the BM25 index, processor seconds to embed, to store and to index, and milliseconds of a search. The stored
vectors are random, because that does not change the time of a search. Processor time depends less on other load than
the clock's. docs/scale.md calculates from these numbers.
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

from benchmarks.harness import report, sample_passages
from benchmarks.searching import Scattered, generated, queries
from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.datasets.records import read_passages
from quorum.models import embeddings
from quorum.retrievers import search
from quorum.retrievers.bm25_cache import get_ranking
from quorum.retrievers.index import index_passages
from quorum.retrievers.passages import indexed_text
from quorum.retrievers.store import open_store

EMBEDDED = 256
Found = dict[str, Any]


def resident() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])


def took(work: Callable[[], Any]) -> float:
    """Processor seconds of the work."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def stored(passages: list[Passage], folder: Path) -> Found:
    """The collection on disk, and how long it took to write."""
    given: Found = {"collection": "bench", "store": folder, "embeddings": Scattered()}
    seconds = took(lambda: index_passages(passages, **given))
    return {"store_ms": 1000 * seconds / len(passages), "chroma_disk": folder_bytes(folder / "chroma") / len(passages)}


def searched(passages: list[Passage], folder: Path, kind: str) -> Found:
    """The memory that a first search takes in a fresh process, and the time of the other searches."""
    context = Context(store=str(folder), collection="bench", embeddings=Scattered(), retriever=kind, k=5, journal="off")
    asked = queries(passages, 51)
    asyncio.run(search(asked[0], Context(retriever="bm25", journal="off", store=str(folder / "other"))))
    context.embeddings.embed_query("")  # type: ignore[union-attr]
    before = resident()
    if kind == "bm25":
        first = took(lambda: get_ranking(open_store(str(folder)), "bench"))
    else:
        first = took(lambda: asyncio.run(search(asked[0], context)))
    memory = resident() - before
    times, clock = [], []
    for query in asked:
        begin = time.perf_counter()
        times.append(1000 * took(lambda query=query: asyncio.run(search(query, context))))  # type: ignore[misc]
        clock.append(1000 * (time.perf_counter() - begin))
    found = {"memory": memory / len(passages), "first_s": first, "cpu_ms": statistics.median(times)}
    return {f"{kind}_{name}": value for name, value in found.items()} | {f"{kind}_ms": statistics.median(clock)}


def alone(work: Callable[..., Found], *given: Any) -> Found:
    """Do the work in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.apply(work, given)
        pool.close()
        pool.join()
        return found


def measured(passages: list[Passage]) -> Found:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found: Found = {"passages": len(passages)} | alone(stored, passages, folder)
        found |= alone(searched, passages, folder, "chroma") | alone(searched, passages, folder, "bm25")
        return found | {"bm25_disk": folder_bytes(folder / "bm25") / len(passages)}


def embedding(passages: list[Passage]) -> Found:
    """Processor milliseconds to embed a passage, and its length."""
    model, texts = embeddings("embedded"), [indexed_text(passage) for passage in passages[:EMBEDDED]]
    model.embed_documents(texts[:8])
    seconds = took(lambda: model.embed_documents(texts))
    words = statistics.mean(len(text.split()) for text in texts)
    return {"embed_ms": 1000 * seconds / len(texts), "words": words}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=Path, help='JSON lines of {"id", "title", "text"}')
    parser.add_argument("--sizes", default="5000,20000", help="with a comma between")
    options = parser.parse_args()
    given = read_passages(options.passages) if options.passages else sample_passages()
    once = alone(embedding, given)
    found = [measured(list(generated(int(size), given))) for size in options.sizes.split(",")]
    rows = [[name, *(f"{one[name]:,.2f}" for one in found)] for name in found[0]]
    rows += [[name, f"{value:,.2f}"] + [""] * (len(found) - 1) for name, value in once.items()]
    report("sizes", ["", *(str(one["passages"]) for one in found)], rows, runs=found, once=once)


if __name__ == "__main__":
    main()
