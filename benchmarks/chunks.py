"""Whether passages of API documentation are found by what is asked about them: python -m benchmarks.chunks [--misses]

Indexes benchmarks/api_pages, 20 pages of the documentation of an invented library in Markdown (MyST), reStructuredText
(Sphinx) and HTML, together with Quorum's own documentation, and searches for its 60 questions with each retriever and
the built-in embeddings. A passage is right if it holds the answer and what the answer speaks of: the line that
introduces a list or code, the term of a definition. Printed is for how many of the 60 a right passage stands first, and
among the first five; for how many the answer does, with its subject or without; and of the 20 pages, how many passages
there are, how many are shorter than ten words, and how many begin with a list item.
"""

import argparse
import asyncio
import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.documents.document import join_lines
from quorum.documents.pieces import read_file_passages
from quorum.retrievers import search
from quorum.retrievers.index import index_documents

PAGES = Path(__file__).parent / "api_pages"
RETRIEVERS = ("hybrid", "bm25", "chroma")
DOCS = Path(__file__).parents[1] / "docs"
ITEM = re.compile(r"- |\d+\. ")
FIRST = 5
SHORT = 10  # words


def read_questions() -> list[dict[str, str]]:
    """The questions: {"file", "question", "answer"}, the answer being words of the file."""
    return [json.loads(line) for line in (PAGES / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


def list_pages() -> list[Path]:
    return sorted(path for path in PAGES.iterdir() if path.suffix != ".jsonl")


def find_rank(passages: Sequence[Passage], question: dict[str, str], *, whole: bool) -> int:
    """The rank, from 1, of the first passage that holds the answer, and if `whole`, its subject; 0 if none does."""
    wanted = [question["answer"], *([question["subject"]] if whole and "subject" in question else [])]
    for rank, passage in enumerate(passages, start=1):
        is_file = any(Path(place.get("file", "")).name == question["file"] for place in passage.get("places", []))
        if is_file and all(text in join_lines(passage["text"]) for text in wanted):
            return rank
    return 0


async def rank_answers(retriever: str, store: str) -> list[tuple[dict[str, str], int, int]]:
    """(question, rank of the first right passage, rank of the first that holds the answer) of each question."""
    context = Context(store=store, collection="api", k=FIRST, retriever=retriever, journal="off")
    ranks = []
    for question in read_questions():
        passages = await search(question["question"], context)
        ranks.append((question, *(find_rank(passages, question, whole=whole) for whole in (True, False))))
    return ranks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--misses", action="store_true", help="print the questions without a right passage, too")
    options = parser.parse_args()
    texts = [passage["text"] for path in list_pages() for passage in read_file_passages(path)]
    short, items = sum(len(text.split()) < SHORT for text in texts), sum(bool(ITEM.match(text)) for text in texts)
    print(f"{len(texts)} passages, {short} under {SHORT} words, {items} begin with a list item")
    with tempfile.TemporaryDirectory() as store:
        index_documents([*list_pages(), DOCS], collection="api", store=store)
        for retriever in RETRIEVERS:
            ranks = asyncio.run(rank_answers(retriever, store))
            first, right = sum(rank == 1 for _, rank, _ in ranks), sum(rank > 0 for _, rank, _ in ranks)
            found = sum(rank > 0 for *_, rank in ranks)
            print(f"{retriever:8}right: {first} first, {right} in the first {FIRST}; answer: {found}; of {len(ranks)}")
            for question, rank, found in ranks if options.misses else ():
                if not rank:
                    print(f"    {question['question']}{'' if found else ' (not at all)'}")


if __name__ == "__main__":
    main()
