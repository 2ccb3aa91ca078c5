"""How fast the embedded model embeds and reads: python -m benchmarks.embedded [--reference FOLDER]

Without --reference it times the embedded model alone. FOLDER holds reader.onnx and vocab.txt of the same model,
exported with float weights (`python -m quorum.training.export --weight-limit 0` writes such a reader.onnx). Both models
then embed the same passages in turn. At the end of a line of the table, "embedded is 2.00 x as fast" means that the
embedded model embeds twice as many passages per second as the model of that line, by the median times. The line "fp32,
as Chroma does" is the float model with every text padded or cut to 256 tokens, as chromadb's default embedding function
does. Prints a table and a JSON line.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from quorum.core.state import Passage
from quorum.datasets.records import read_passages
from quorum.documents.pieces import read_file_passages
from quorum.models.embedded.batching import Job, read_jobs
from quorum.models.embedded.encoder import EMBEDDING_MODE, Encoder, get_encoder
from quorum.retrievers.passages import make_indexed_text

SAMPLE = Path(__file__).parent.parent / "data" / "sample" / "corpus"


def time_work(work: Callable[[], object]) -> float:
    """The seconds that the work takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def embed_padded_to_256(model: Encoder, texts: list[str]) -> None:
    """Embed the texts in batches of 32, each text padded or cut to 256 tokens."""
    for begin in range(0, len(texts), 32):
        encoded_texts = model.tokenizer.encode_batch(texts[begin : begin + 32], add_special_tokens=False)
        rows = [[model.cls, *item.ids[:254], model.sep] for item in encoded_texts]
        ids, mask = np.zeros((len(rows), 256), np.int64), np.zeros((len(rows), 256), np.int64)
        for number, row in enumerate(rows):
            ids[number, : len(row)], mask[number, : len(row)] = row, 1
        inputs = {"ids": ids, "types": np.zeros_like(ids), "mask": mask}
        model.sessions.all_cores_session.run(["embedding"], inputs | EMBEDDING_MODE)


def measure_ratios() -> dict[str, float]:
    """The speeds of embedding and of reading, relative to the speed of the machine.

    The speed of embedding is the processor time of one float32 matrix product in numpy, divided by the processor time
    to embed one passage; the speed of reading is the time of the same product, divided by the time to read five
    passages.
    """
    passages, model = read_sample()[:64], get_encoder()
    texts = [make_indexed_text(passage) for passage in passages]
    matrix = np.random.default_rng(0).normal(size=(768, 768)).astype(np.float32)
    times: dict[str, list[float]] = {"product": [], "embed": [], "read": []}
    for number in range(6):  # a new question each time, because recent readings are cached
        jobs = [Job(f"Who measured it {number} times, and when?", [passage]) for passage in passages[:5]]
        ways: dict[str, Callable[[], object]] = {
            "product": lambda: [matrix @ matrix for _ in range(20)],
            "embed": lambda: model.embed(texts),
            "read": partial(read_jobs, jobs),
        }
        for name, work in ways.items():
            begin = time.process_time()
            work()
            times[name].append(time.process_time() - begin)
    # The first round is left out, because it loads the model.
    medians = {name: statistics.median(seconds[1:]) for name, seconds in times.items()}
    product_time = medians["product"] / 20
    return {
        "embed a passage": product_time * len(texts) / medians["embed"],
        "read five passages": product_time / medians["read"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", type=Path, help="folder of a float export of the same model")
    parser.add_argument("--passages", type=Path, help='JSON lines of {"id", "title", "text"}; default: the sample')
    parser.add_argument("--limit", type=int, default=128, help="embed at most so many passages")
    parser.add_argument("--runs", type=int, default=5, help="how many times each way of embedding is timed")
    options = parser.parse_args()
    passages = read_passages(options.passages) if options.passages else read_sample()
    passages = passages[: options.limit]
    texts = [make_indexed_text(passage) for passage in passages]
    model = get_encoder()
    ways: dict[str, Callable[[], object]] = {"embedded, int8": lambda: model.embed(texts)}
    if options.reference:
        reference = Encoder(options.reference)
        ways["fp32, same batches"] = lambda: reference.embed(texts)
        ways["fp32, as Chroma does"] = lambda: embed_padded_to_256(reference, texts)
    for work in ways.values():  # loads the models
        work()
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.runs):
        for name, work in ways.items():
            times[name].append(time_work(work))
    rates = {name: len(texts) / statistics.median(seconds) for name, seconds in times.items()}
    for name, rate in rates.items():
        print(f"{name:<24}{rate:8.1f} passages/s   embedded is {rates['embedded, int8'] / rate:.2f} x as fast")
    rounds = range(3 * options.runs + 1)  # a new question each time, because recent readings are cached
    jobs_of_rounds = [
        [Job(f"Who measured it {n} times, and when?", [passage]) for passage in passages[:5]] for n in rounds
    ]
    read_jobs(jobs_of_rounds[0])
    reading_ms = statistics.median(time_work(partial(read_jobs, jobs)) for jobs in jobs_of_rounds[1:]) * 1000
    print(f"reading five passages together, each in its own window: {reading_ms:.0f} ms (median of {3 * options.runs})")
    print(json.dumps({"passages": len(texts), "per_second": rates, "read_five_ms": reading_ms}))


def read_sample() -> list[Passage]:
    """The passages of the sample collection."""
    return [passage for path in sorted(SAMPLE.glob("*.md")) for passage in read_file_passages(path)]


if __name__ == "__main__":
    main()
