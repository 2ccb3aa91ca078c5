"""What the context "outline" finds: python -m benchmarks.outline [CORPUS QUESTIONS] [--articles N]

Indexes documents without and with `--context outline`, and searches them with each retriever. Printed is for how many
of the questions a right passage is the first, among the first five, and among the first ten, and how many passages have
a context at all. The embeddings are the built-in ones. The documents are:

api_pages         60 questions about the pages of `benchmarks.chunks`, among Quorum's own documentation
german, french    20 questions each, of `benchmarks.languages`
articles          with CORPUS (passages in JSON lines, in the order of their articles) and QUESTIONS with gold ids
                  (docs/data.md): the first N titles with a question, the passages of each as one document again

For an article, a passage is right if it holds the sentence of the gold passage in which an answer stands.
"""

import argparse
import asyncio
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import chunks, languages
from benchmarks.harness import report
from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.datasets.questions import read_questions
from quorum.datasets.records import read_passages
from quorum.documents.split import find_sentences, normalize_spacing
from quorum.retrievers import search
from quorum.retrievers.index import index_documents
from quorum.retrievers.store import open_store

CONTEXTS = ("none", "outline")
DEPTHS = (1, 5, 10)
Case = tuple[str, Callable[[Passage], bool]]  # a question, and whether a passage is right


def make_api_cases() -> list[Case]:
    """The questions about the API's pages. A right passage holds the answer, and what the answer speaks of."""
    return [
        (question["question"], lambda passage, it=question: chunks.find_rank([passage], it, whole=True) == 1)
        for question in chunks.read_questions()
    ]


def make_language_cases(language: str) -> list[Case]:
    lines = (languages.FOLDER / "questions.jsonl").read_text("utf-8").splitlines()
    questions = [question for question in map(json.loads, lines) if question["language"] == language]
    return [(question["question"], make_test(question["passage"])) for question in questions]


def make_test(sentence: str) -> Callable[[Passage], bool]:
    """Whether a passage holds a sentence."""
    return lambda passage: normalize_spacing(sentence) in normalize_spacing(passage["text"])


def write_articles(corpus: Path, questions: Path, count: int, folder: Path) -> list[Case]:
    """Write the first articles with questions as files, and return their questions."""
    passages = {passage["id"]: passage for passage in read_passages(corpus)}
    cases: dict[str, list[Case]] = {}
    for line in read_questions(questions):
        gold = [passages[id_] for id_ in line["gold"] if id_ in passages]
        sentence = next((found for passage in gold for found in find_answers(passage["text"], line["answers"])), "")
        if sentence:
            cases.setdefault(gold[0]["title"], []).append((line["question"], make_test(sentence)))
    titles = [title for title in dict.fromkeys(passage["title"] for passage in passages.values()) if title in cases]
    for title in titles[:count]:
        texts = [passage["text"] for passage in passages.values() if passage["title"] == title]
        name = re.sub(r"\W+", "-", title)
        (folder / f"{name}.md").write_text("\n\n".join([f"# {title}", *texts]), encoding="utf-8")
    return [case for title in titles[:count] for case in cases[title]]


def find_answers(text: str, answers: Sequence[str]) -> Iterator[str]:
    """The sentences of a text that hold an answer."""
    sentences = [text[start:end] for start, end in find_sentences(text)]
    return (sentence for sentence in sentences if any(answer in sentence for answer in answers))


async def find_ranks(cases: Sequence[Case], context: Context) -> list[int]:
    """The rank, from 1, of the first right passage for each question; 0 if none is among the first k."""
    ranks = []
    for question, is_right in cases:
        found = enumerate(await search(question, context), start=1)
        ranks.append(next((rank for rank, passage in found if is_right(passage)), 0))
    return ranks


def measure(name: str, paths: Sequence[Path], cases: Sequence[Case]) -> list[list[str]]:
    """A row for each retriever and each context."""
    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory() as store:
        for added in CONTEXTS:
            index_documents(paths, collection=added, store=store, add_context=added)
            stored = open_store(store).fetch_passages(added)[1]
            count = sum("context" in passage for passage in stored)
            for retriever in chunks.RETRIEVERS:
                language = name if name in ("german", "french") else "english"
                context = Context(
                    store=store,
                    collection=added,
                    k=max(DEPTHS),
                    retriever=retriever,
                    language=language,  # type: ignore[arg-type]
                    journal="off",
                )
                ranks = asyncio.run(find_ranks(cases, context))
                among = [str(sum(0 < rank <= depth for rank in ranks)) for depth in DEPTHS]
                rows.append([f"{name} ({len(cases)})", retriever, added, f"{count} of {len(stored)}", *among])
    return sorted(rows, key=lambda row: chunks.RETRIEVERS.index(row[1]))


def main(command_line: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="corpus and questions of articles")
    parser.add_argument("--articles", type=int, default=40, metavar="N", help="how many articles")
    options = parser.parse_args(command_line)
    rows: list[list[str]] = []
    for language in ("german", "french"):
        rows += measure(language, [languages.FOLDER / f"{language}.md"], make_language_cases(language))
    if options.files:
        with tempfile.TemporaryDirectory() as folder:
            cases = write_articles(*options.files, options.articles, Path(folder))
            rows += measure("articles", [Path(folder)], cases)
    rows += measure("api_pages", [*chunks.list_pages(), chunks.DOCS], make_api_cases())
    header = ("questions", "retriever", "context", "with one", *(f"first {depth}" for depth in DEPTHS))
    report("outline", header, rows, measured=rows)


if __name__ == "__main__":
    main()
