"""What hybrid search finds: python -m benchmarks.fusion [CORPUS QUESTIONS ...] [--store FOLDER] [--tries C:D,...]

Prints recall@3, @5 and @10, and how many questions have all their gold passages in the first 3, 5 and 10, for the
dense ranking, for BM25, and for their reciprocal rank fusion with several constants C, each ranking read D deep
(C:D; with k passages wanted, at least 4 k). The first is the former default, 60:20, the second the present one.

Measures 600 generated part records, which differ in a code and a few words: questions that name one part, and questions
that name two. Each further corpus is a file of passages, followed by files of questions with gold ids (docs/data.md),
of which those without gold are left out. The rankings are the retrievers' own, over a collection in a store on disk,
with the embedded model. With --store the collections stay in a folder for the next run.
"""

import argparse
import asyncio
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from benchmarks.harness import report
from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.datasets.questions import read_questions
from quorum.datasets.records import read_passages
from quorum.retrievers import search
from quorum.retrievers.index import index_passages
from quorum.retrievers.langchain_retrievers import (
    RANK_CONSTANT,
    RANKING_DEPTH,
    fuse_rankings,
    keep_matching_passages,
)
from quorum.retrievers.store import open_store

DEPTHS = (3, 5, 10)  # k
FORMER = (60, 20)
PART_COUNT, PART_QUESTIONS = 600, 100
Case = tuple[str, set[str]]  # a question and the ids of its gold passages
Rankings = tuple[list[Passage], list[Passage]]  # dense, lexical
Ranker = Callable[[Rankings, int], list[str]]  # (rankings, k) -> ids, best first


def make_parts() -> list[Passage]:
    """Records of parts, each with a code, a colour, a kind and a price."""
    rng = random.Random(7)
    codes: set[str] = set()
    while len(codes) < PART_COUNT:
        codes.add(f"{rng.choice(['ZX', 'QR', 'LM', 'TB'])}-{rng.randint(1000, 9999)}")
    return [make_part(code, rng) for code in sorted(codes)]


def make_part(code: str, rng: random.Random) -> Passage:
    colour, kind = rng.choice(["red", "blue", "green"]), rng.choice(["bolt", "hinge", "valve"])
    text = f"Part {code} is a {colour} {kind}. It costs {rng.randint(100, 9999) / 100:.2f} euros."
    return Passage(id=code, title=f"Part {code}", text=text)


def make_part_questions(parts: Sequence[Passage]) -> Iterator[tuple[str, list[Case]]]:
    """(name, questions): those that name one part, and those that name two."""
    codes = [part["id"] for part in parts]
    ones = random.Random(1).sample(codes, PART_QUESTIONS)
    yield "one part", [(f"What does part {code} cost?", {code}) for code in ones]
    rng = random.Random(2)
    pairs = [rng.sample(codes, 2) for _ in range(PART_QUESTIONS)]
    yield "two parts", [(f"Which is cheaper, {first} or {second}?", {first, second}) for first, second in pairs]


def read_cases(path: Path) -> list[Case]:
    """The questions of a file that have gold passages."""
    return [(line["question"], set(line["gold"])) for line in read_questions(path) if line["gold"]]


async def rank_all(cases: Sequence[Case], collection: str, store: str, depth: int) -> list[Rankings]:
    """The dense and the lexical ranking of each question, without passages that share no word with it."""
    context = Context(store=store, collection=collection, k=depth, journal="off")
    dense, lexical = (Context(**{**vars(context), "retriever": name}) for name in ("chroma", "bm25"))
    return [
        (await search(question, dense), keep_matching_passages(await search(question, lexical)))
        for question, _ in cases
    ]


def measure(cases: Sequence[Case], rankings: Sequence[Rankings], rank: Ranker) -> list[str]:
    """For each k: recall@k in percent, and how many of the questions have all gold passages among the first k."""
    cells = []
    for k in DEPTHS:
        shares = [
            len(gold & set(rank(pair, k)[:k])) / len(gold) for (_, gold), pair in zip(cases, rankings, strict=True)
        ]
        cells.append(f"{100 * sum(shares) / len(shares):.2f} ({sum(share == 1 for share in shares)})")
    return cells


def rank_by_fusion(constant: int, depth: int) -> Ranker:
    """The ids in the order of a fusion of the first max(4 k, depth) passages of each ranking."""

    def rank(pair: Rankings, k: int) -> list[str]:
        read = max(4 * k, depth)
        return [passage["id"] for passage in fuse_rankings([ranking[:read] for ranking in pair], constant)]

    return rank


def measure_questions(
    name: str, cases: Sequence[Case], rankings: Sequence[Rankings], tries: Sequence[tuple[int, int]]
) -> list[list[str]]:
    """A row for each ranking: the questions' name and number, the ranking, the cells of `measure`."""
    ways: dict[str, Ranker] = {
        "chroma": lambda pair, k: [passage["id"] for passage in pair[0]],
        "bm25": lambda pair, k: [passage["id"] for passage in pair[1]],
    }
    ways |= {f"fusion {constant}:{depth}": rank_by_fusion(constant, depth) for constant, depth in tries}
    return [[f"{name} ({len(cases)})", way, *measure(cases, rankings, rank)] for way, rank in ways.items()]


def list_corpora(files: Sequence[Path]) -> Iterator[tuple[str, list[Passage], list[tuple[str, list[Case]]]]]:
    """(collection, passages, questions by name). The files after a corpus are its questions, up to the next corpus."""
    parts = make_parts()
    yield "parts", parts, list(make_part_questions(parts))
    while files:
        corpus, files = files[0], files[1:]
        end = next((place for place, path in enumerate(files) if path.name.startswith("corpus")), len(files))
        questions = [(path.parent.name, read_cases(path)) for path in files[:end]]
        yield corpus.parent.name, read_passages(corpus), questions
        files = files[end:]


def main(command_line: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="corpus*, then its files of questions, and so on")
    parser.add_argument("--store", help="a folder that keeps the collections for another run")
    parser.add_argument("--tries", default="", help="further fusions, such as 5:100,20:50")
    options = parser.parse_args(command_line)
    further = [(int(one), int(two)) for one, two in (text.split(":") for text in options.tries.split(",") if text)]
    tries = [FORMER, (RANK_CONSTANT, RANKING_DEPTH), *further]
    depth = max(4 * max(DEPTHS), *(depth for _, depth in tries))
    rows: list[list[str]] = []
    with nullcontext(options.store) if options.store else tempfile.TemporaryDirectory() as store:
        for collection, passages, questions in list_corpora(options.files):
            info = open_store(store).find_info(collection)
            if info is None or info.is_being_changed:
                index_passages(passages, collection=collection, store=store)
            for name, cases in questions:
                rankings = asyncio.run(rank_all(cases, collection, store, depth))
                rows += measure_questions(name, cases, rankings, tries)
    header = ("questions", "ranking", *(f"recall@{k} (all found)" for k in DEPTHS))
    report("fusion", header, rows, measured=rows)


if __name__ == "__main__":
    main()
