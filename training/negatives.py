"""Mine hard negatives for the reader: passages that a search for the question finds, but that do not answer it.

Run it: python -m training.negatives --help.

Searches the corpus for every question with Quorum's own BM25. Results that do not contain a gold answer become examples
without an answer, because a real search returns such passages along with the right one. The passages that the data name
as holding the answer to the question (`context` or `gold`, see below) are never taken.

Reading data are questions with one `context` each, the text that holds the answer. Question answering data are
questions without a `context`; they may have `passages`, and in `gold` the ids of the passages that hold the answer.
"""

import argparse
import gzip
import hashlib
import heapq
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.core.text import squad_contains_answer
from quorum.datasets.records import parse_passage, read_json_lines
from quorum.retrievers.bm25 import BM25Index
from quorum.retrievers.passages import make_indexed_text

SEARCH_DEPTH = 12  # search results that are examined
SHORTEST_PASSAGE = 150  # characters that a passage must exceed
QA_NEGATIVES, READING_NEGATIVES = 3, 1  # per question of question answering data and of reading data
MAX_QUESTIONS_OF_FILE = 14_000  # the default of --limit


@dataclass(frozen=True)
class SearchedQuestion:
    """A question with its gold answers.

    gold_passage_keys: the ids (question answering data) or the text (reading data) of the passages that hold the
    answer; wanted_count: how many negatives to find.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    gold_passage_keys: frozenset[str]
    wanted_count: int


def read_passages(path: Path, sources: Sequence[str] = ()) -> Iterator[Passage]:
    """The passages of a file: a corpus (records with the field `text`), question answering data (`passages`) or reading
    data (`context`). Only reading data is restricted to the records whose `source` begins with one of `sources`; if
    `sources` is empty, all records are read.
    """
    for number, record in read_json_lines(path):
        if "context" not in record or is_from_sources(record, sources):
            yield from get_passages(record, f"{path}, line {number}")


def get_passages(record: dict[str, Any], location: str) -> list[Passage]:
    """The passages of one record of a file that `read_passages` reads. Raises `SetupError` if the record is invalid."""
    if "context" in record:
        text = get_text(record, "context", location)
        return [Passage(id=f"c{hash_text(text)[:12]}", title="", text=text)]
    if "passages" in record:
        return [parse_passage(passage, location) for passage in record["passages"] or ()]
    return [parse_passage(record, location)]


def collect_evaluation_keys(paths: Iterable[Path]) -> set[str]:
    """The ids and texts of all passages in the evaluation sets. Also the ids in the sets' `gold` fields, because the
    passages with these ids may be in another file.
    """
    keys: set[str] = set()
    for path in paths:
        for number, record in read_json_lines(path):
            keys |= {str(id_) for id_ in record.get("gold") or ()}
            if "gold" in record and record.keys().isdisjoint(("context", "passages", "text")):
                continue  # a question without passages
            for passage in get_passages(record, f"{path}, line {number}"):
                keys |= {passage["id"], passage["text"].strip()}
    return keys


def collect_documents(paths: Iterable[Path], excluded_keys: set[str], sources: Sequence[str] = ()) -> list[Passage]:
    """The passages to search in: longer than SHORTEST_PASSAGE, each id and text once, without the excluded ones."""
    seen = set(excluded_keys)
    documents = []
    for path in paths:
        for passage in read_passages(path, sources):
            keys = {passage["id"], passage["text"].strip()}
            if len(passage["text"]) > SHORTEST_PASSAGE and seen.isdisjoint(keys):
                seen |= keys
                documents.append(passage)
    return documents


def read_questions(
    path: Path, negatives_per_question: int | None, sources: Sequence[str] = ()
) -> Iterator[SearchedQuestion]:
    """The questions of a file, except those without answers. The file holds reading data ({context, question, answers:
    [{text}]}) or question answering data ({question, answers: [text]}).

    negatives_per_question: how many negatives to find; None for QA_NEGATIVES or READING_NEGATIVES. sources: as in
    `read_passages`.
    """
    for number, record in read_json_lines(path):
        location = f"{path}, line {number}"
        question, answers = get_text(record, "question", location), record.get("answers")
        if not isinstance(answers, list):
            raise SetupError(f"{location}: expected 'answers', a list, found {json.dumps(answers)[:80]}.")
        is_reading_data = "context" in record
        texts = tuple(get_text(answer, "text", location) if is_reading_data else str(answer) for answer in answers)
        if not texts or (is_reading_data and not is_from_sources(record, sources)):
            continue
        gold_keys = (
            {get_text(record, "context", location).strip()}
            if is_reading_data
            else {str(id_) for id_ in record.get("gold") or ()}
        )
        wanted_count = negatives_per_question or (READING_NEGATIVES if is_reading_data else QA_NEGATIVES)
        yield SearchedQuestion(str(record.get("id", number)), question, texts, frozenset(gold_keys), wanted_count)


def draw_questions(questions: Iterable[SearchedQuestion], limit: int, seed: int) -> list[SearchedQuestion]:
    """At most `limit` of the questions, in the order given: those whose hashes with the seed are the smallest.

    Only these questions are kept in memory.
    """
    numbered_questions = (
        (hash_text(f"{seed}\n{question.id}\n{question.question}"), n, question) for n, question in enumerate(questions)
    )
    return [question for _, _, question in sorted(heapq.nsmallest(limit, numbered_questions), key=lambda item: item[1])]


def find_negatives(question: SearchedQuestion, index: BM25Index) -> list[Passage]:
    """The best-ranked passages that do not answer the question, best first: `wanted_count` of them, or fewer."""
    negatives: list[Passage] = []
    for passage in index.find_best(question.question, SEARCH_DEPTH):
        if len(negatives) == question.wanted_count or not passage["score"]:
            break
        if question.gold_passage_keys.isdisjoint(
            {passage["id"], passage["text"].strip()}
        ) and not squad_contains_answer(make_indexed_text(passage), question.answers):
            negatives.append(passage)
    return negatives


def write_negatives(questions: Iterable[SearchedQuestion], index: BM25Index, out: Path) -> tuple[int, int]:
    """Write one line for each question that has negatives; return how many questions and negatives were written."""
    question_count = negative_count = 0
    with write_atomically(out) as file:
        for question in questions:
            negatives = find_negatives(question, index)
            if not negatives:
                continue
            line = {
                "id": question.id,
                "question": question.question,
                "negatives": [{"title": passage["title"], "text": passage["text"]} for passage in negatives],
            }
            file.write((json.dumps(line, ensure_ascii=False) + "\n").encode())
            question_count, negative_count = question_count + 1, negative_count + len(negatives)
            if question_count % 1000 == 0:
                print(f"{question_count} questions, {negative_count} negatives", file=sys.stderr, flush=True)
    return question_count, negative_count


@contextmanager
def write_atomically(out: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Write a file atomically to `out`; a .gz file is compressed, and reproducible byte for byte."""
    part = out.with_name(out.name + ".part")
    try:
        with part.open("wb") as raw:
            if out.suffix == ".gz":
                with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed_file:
                    yield packed_file
            else:
                yield raw
        part.replace(out)
    except OSError as error:
        raise SetupError(f"{out} cannot be written ({error.strerror}); give another --out.") from None
    finally:
        part.unlink(missing_ok=True)


def is_from_sources(record: dict[str, Any], sources: Sequence[str]) -> bool:
    return not sources or str(record.get("source", "")).startswith(tuple(sources))


def get_text(record: Any, name: str, location: str) -> str:
    """The text in the field `name` of a record. Raises `SetupError` if there is no text."""
    value = record.get(name) if isinstance(record, dict) else None
    if not isinstance(value, str):
        raise SetupError(f"{location}: expected {name!r}, a text, found {json.dumps(record)[:80]}.")
    return value


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def parse_count(text: str) -> int:
    """A whole number from 1, from the text of an option."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return int(text)


def parse_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m training.negatives", description=__doc__)
    parser.add_argument(
        "--corpus",
        type=Path,
        nargs="+",
        required=True,
        help="files to search in: corpora, question answering data, reading data",
    )
    parser.add_argument(
        "--exclude-passages-of",
        type=Path,
        nargs="*",
        default=[],
        help="evaluation sets: their passages are not searched, so they cannot become negatives",
    )
    parser.add_argument(
        "--questions",
        type=Path,
        nargs="+",
        required=True,
        help="files with the questions: question answering data or reading data",
    )
    parser.add_argument(
        "--sources",
        nargs="*",
        default=[],
        help="of reading data, take only the records whose field source begins with one of these (default: all)",
    )
    parser.add_argument(
        "--per-question",
        type=parse_count,
        help=f"negatives per question (default: {QA_NEGATIVES}; {READING_NEGATIVES} for reading data)",
    )
    parser.add_argument(
        "--limit",
        type=parse_count,
        default=MAX_QUESTIONS_OF_FILE,
        help="at most this many questions of each file; if it has more, chosen at random (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the random choice of questions (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, required=True, help="the file to write: .jsonl or .jsonl.gz")
    return parser.parse_args(arguments)


def mine_negatives(options: argparse.Namespace) -> tuple[int, int]:
    """Find and write the negatives; return how many questions and negatives were written. Raises SetupError."""
    if not options.out.parent.is_dir():
        raise SetupError(f"There is no folder {options.out.parent}; make it, or give another --out.")
    questions = [
        question
        for path in options.questions
        for question in draw_questions(
            read_questions(path, options.per_question, options.sources), options.limit, options.seed
        )
    ]
    if not questions:
        files = ", ".join(map(str, options.questions))
        raise SetupError(f"There is no question with an answer in {files}; give question answering or reading data.")
    documents = collect_documents(options.corpus, collect_evaluation_keys(options.exclude_passages_of), options.sources)
    if not documents:
        files = ", ".join(map(str, options.corpus))
        raise SetupError(
            f"There is no passage of more than {SHORTEST_PASSAGE} characters to search in {files}; "
            "give other files with --corpus."
        )
    print(f"{len(documents)} passages, {len(questions)} questions", file=sys.stderr, flush=True)
    return write_negatives(questions, BM25Index(documents), options.out)


def main(arguments: list[str] | None = None) -> None:
    options = parse_options(arguments)
    try:
        question_count, negative_count = mine_negatives(options)
    except SetupError as error:
        print("training.negatives:", error, file=sys.stderr)
        sys.exit(2)
    print(f"{options.out}: {negative_count} negatives for {question_count} questions")


if __name__ == "__main__":
    main()
