"""What a reranker gains: python -m benchmarks.reranking [CORPUS QUESTIONS ...] [--store FOLDER] [--questions N]
[--passages N] [--rerankers reader,question]

Prints recall@5 and @10 of the passages that a method would read, without a reranker and with each, and how many
milliseconds of processor time a question takes (search and reranker together, all threads), with k = 5 and with k = 10.
A reranker chooses from as many passages as by default: 20 with k = 5, 40 with k = 10.

The files are those of `python -m benchmarks.fusion`: a corpus of passages, followed by files of questions with gold
ids, and so on; without any, generated part records. With --questions only the first N of each file are asked; with
--passages only N passages of a corpus are indexed: those with a gold id, and others drawn at random. A collection
that the store holds is searched as it is. The search is the default one, with the embedded model. Each k is measured
over all questions before the next, so that the reader has forgotten its readings of a question when it comes again.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Sequence, Set
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

from benchmarks.fusion import Case, list_corpora
from benchmarks.harness import report
from quorum.core.context import Context, make_context
from quorum.core.state import Passage
from quorum.graphs.parts.search_and_rerank import search_and_rerank
from quorum.retrievers.index import index_passages
from quorum.retrievers.store import open_store

DEPTHS = (5, 10)  # k


async def measure(cases: Sequence[Case], context: Context) -> tuple[float, float]:
    """(recall@k in percent, milliseconds of processor time a question)."""
    await find_ids("warm up", context)
    shares, started_at = [], time.process_time()
    for question, gold in cases:
        shares.append(len(gold & set(await find_ids(question, context))) / len(gold))
    seconds = time.process_time() - started_at
    return 100 * sum(shares) / len(shares), 1000 * seconds / len(cases)


async def find_ids(question: str, context: Context) -> list[str]:
    """The ids of the passages that a method would read."""
    found: Any = await search_and_rerank.ainvoke(cast(Any, {"question": question}), context=context)
    return [passage["id"] for passage in found["passages"]]


def draw_passages(passages: list[Passage], gold: Set[str], count: int | None) -> list[Passage]:
    """The passages with a gold id and others drawn at random, `count` together, in their order; None: all."""
    others = [passage["id"] for passage in passages if passage["id"] not in gold]
    wanted = len(others) if count is None else count - (len(passages) - len(others))
    kept = gold | set(random.Random(0).sample(others, max(0, min(wanted, len(others)))))
    return [passage for passage in passages if passage["id"] in kept]


def measure_rerankers(name: str, cases: Sequence[Case], rerankers: Sequence[str], **settings: Any) -> list[list[str]]:
    """A row for each reranker: the questions' name and number, the reranker, then recall and milliseconds by k."""
    cells: dict[str, list[str]] = {reranker: [] for reranker in rerankers}
    for k in DEPTHS:
        for reranker in rerankers:
            context = make_context({"reranker": reranker}, k=k, journal="off", **settings)
            recall, milliseconds = asyncio.run(measure(cases, context))
            cells[reranker] += [f"{recall:.2f}", f"{milliseconds:.1f}"]
    return [[f"{name} ({len(cases)})", reranker, *cells[reranker]] for reranker in rerankers]


def main(command_line: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="corpus*, then its files of questions, and so on")
    parser.add_argument("--store", help="a folder that keeps the collections for another run")
    parser.add_argument("--questions", type=int, help="only the first N questions of each file")
    parser.add_argument("--passages", type=int, help="search only N passages, among them all gold ones")
    parser.add_argument("--rerankers", default="reader", help="values of the setting reranker, separated by commas")
    options = parser.parse_args(command_line)
    rerankers = ["none", *options.rerankers.split(",")]
    rows: list[list[str]] = []
    with nullcontext(options.store) if options.store else tempfile.TemporaryDirectory() as store:
        for collection, passages, questions in list_corpora(options.files):
            info = open_store(store).find_info(collection)
            if info is None or info.is_being_changed:
                gold = {id_ for _, cases in questions for _, ids in cases for id_ in ids}
                index_passages(draw_passages(passages, gold, options.passages), collection=collection, store=store)
            for name, cases in questions:
                rows += measure_rerankers(
                    name, cases[: options.questions], rerankers, store=str(store), collection=collection
                )
    header = ("questions", "reranker", *(cell for k in DEPTHS for cell in (f"recall@{k}", f"ms, k={k}")))
    report("reranking", header, rows, measured=rows)


if __name__ == "__main__":
    main()
