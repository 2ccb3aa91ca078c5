"""How long indexing takes compared with embedding alone: python -m benchmarks.indexing [--files 300] [--rounds 3]

Writes files of at least 2,000 words, made of sentences from the sample, indexes them into a new store with the
embedded model, and then embeds the texts of the passages that were stored. Reading, splitting and storing cost no time
while they run in parallel with the embedding. Target: indexing takes at most 1.15 times as long as embedding alone.
"""

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.harness import judge_targets, read_sample_passages, report
from quorum.models.embedded.encoder import get_encoder
from quorum.retrievers.index import index_documents
from quorum.retrievers.store import open_store

WORDS = 2000  # the least number of words in a file
BATCH = 256  # texts that are embedded together
TARGET = 1.15  # the time of indexing divided by the time of embedding alone, at most


def write_files(folder: Path, file_count: int, seed: int) -> None:
    """Write `file_count` text files. Their sentences are drawn at random from the sample passages."""
    rng = random.Random(seed)
    sentences = [part for passage in read_sample_passages() for part in passage["text"].split(". ") if part]
    for number in range(file_count):
        paragraphs, word_count = [f"File {number} of {seed}."], 0
        while word_count < WORDS:
            paragraph = ". ".join(rng.choices(sentences, k=5)) + "."
            paragraphs.append(paragraph)
            word_count += len(paragraph.split())
        (folder / f"{number}.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")


def measure_round(file_count: int, seed: int) -> tuple[float, float, int]:
    """Seconds of indexing, seconds of embedding the same texts, and the number of passages."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as store:
        write_files(Path(folder), file_count, seed)
        begin = time.perf_counter()
        index_documents([folder], collection="files", store=store)
        indexing = time.perf_counter() - begin
        opened_store = open_store(store)
        texts = opened_store.client.get_collection("files").get(include=["documents"])["documents"] or []
        begin = time.perf_counter()
        for start in range(0, len(texts), BATCH):
            get_encoder().embed(texts[start : start + BATCH])
        return indexing, time.perf_counter() - begin, len(texts)


def measure_ratios() -> dict[str, float]:
    """The time of embedding alone divided by the time of indexing. Higher is better; `main` prints the inverse."""
    measure_round(2, 0)  # warms up the encoder
    rounds = [measure_round(30, seed) for seed in range(1, 4)]
    return {"embedding to indexing": statistics.median(embedding / indexing for indexing, embedding, _ in rounds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=300, help="number of files in a round")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds, each with other files")
    options = parser.parse_args()
    measure_round(2, 0)  # warms up the encoder
    rounds = [measure_round(options.files, seed) for seed in range(1, options.rounds + 1)]
    ratio = statistics.median(indexing / embedding for indexing, embedding, _ in rounds)
    rows = [
        (f"{count:,}", f"{indexing_s:.1f}", f"{embedding_s:.1f}", f"{indexing_s / embedding_s:.2f}")
        for indexing_s, embedding_s, count in rounds
    ]
    target = judge_targets({"indexing": ratio <= TARGET})
    header = ("passages", "indexing s", "embedding alone s", "ratio")
    report("indexing", header, rows, files=options.files, ratio=round(ratio, 3), **target)


if __name__ == "__main__":
    main()
