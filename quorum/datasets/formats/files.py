"""The records in a file of JSON lines, one JSON document, or CSV; which of them it is, its content says."""

import csv
import json
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from quorum.core.errors import SetupError
from quorum.core.json_text import loads
from quorum.datasets.records import lines_of, opened

Kind = Literal["lines", "document", "table"]
Value = tuple[int, str, Any]  # number from 1, where it stands, the record


def values_of(path: Path, bad: list[str] | None) -> Iterator[Value]:
    """The records of a file. JSON lines and CSV are read as they are used, a JSON document at once."""
    kind = kind_of(path)
    if kind == "lines":
        yield from ((number, f"{path}, line {number}", value) for number, value in lines_of(path, bad))
    elif kind == "table":
        yield from rows(path)
    else:
        yield from enumerated(path, document(path))


def kind_of(path: Path) -> Kind:
    """How a file is laid out. What cannot be read counts as lines, whose reader says what is wrong."""
    try:
        with opened(path) as file:
            first, second = [*islice((line.strip() for line in file if line.strip()), 2), "", ""][:2]
    except (OSError, EOFError, UnicodeDecodeError, zlib.error):
        return "lines"
    if first.startswith("["):
        return "document"
    if first.startswith("{"):
        try:
            return "document" if is_document(loads(first)) else "lines"
        except json.JSONDecodeError:  # a document over several lines, or a broken line
            return "document" if second and not second.startswith("{") else "lines"
    return "table" if delimiter_of(first) else "lines"


def is_document(value: dict[str, Any]) -> bool:
    """Whether an object holds records instead of being one."""
    if any(isinstance(value.get(name), list) for name in ("data", "Data")):
        return True
    return bool(value) and all(isinstance(part, dict) and by_id(part) for part in value.values())


def by_id(part: dict[str, Any]) -> bool:
    """Whether this is a part of ASQA: id -> record."""
    return bool(part) and all(isinstance(record, dict) and "qa_pairs" in record for record in part.values())


def document(path: Path) -> Any:
    """A JSON file."""
    try:
        with opened(path) as file:
            return loads(file.read())
    except json.JSONDecodeError as error:
        raise SetupError(
            f"{path}, line {error.lineno}: not JSON ({error.msg}); expected one JSON document, or an object a line."
        ) from None
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise SetupError(f"{path} cannot be read ({error}); expected UTF-8 JSON.") from None


def enumerated(path: Path, value: Any) -> Iterator[Value]:
    for number, record in enumerate(unpacked(value), start=1):
        yield number, f"{path}, record {number}", record


def unpacked(value: Any) -> Iterator[Any]:
    """The records of a document: of a list, of SQuAD's articles, TriviaQA's Data or ASQA's parts."""
    if isinstance(value, list):
        yield from value
    elif not isinstance(value, dict) or not is_document(value):
        yield value
    elif isinstance(records := value.get("data", value.get("Data")), list):
        for record in records:
            yield from asked(record) if isinstance(record, dict) and "paragraphs" in record else [record]
    else:
        for name, part in value.items():
            yield from ({"sample_id": id_, "split": name} | record for id_, record in part.items())


def asked(article: dict[str, Any]) -> Iterator[Any]:
    """The questions of a SQuAD article, one a record; a part that is none is handed on as it is."""
    paragraphs = article["paragraphs"]
    for paragraph in paragraphs if isinstance(paragraphs, list) else [paragraphs]:
        questions = paragraph.get("qas") if isinstance(paragraph, dict) else None
        if not isinstance(questions, list):
            yield paragraph
            continue
        for question in questions:
            shared = {"title": article.get("title"), "context": paragraph.get("context")}
            yield shared | question if isinstance(question, dict) else question


def delimiter_of(header: str) -> str:
    """What divides the columns of a header that names questions and answers; empty if this is no such header."""
    for delimiter in "\t,;":
        names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter), [])]
        if "question" in names and ("answer" in names or "answers" in names):
            return delimiter
    return ""


def rows(path: Path) -> Iterator[Value]:
    """The rows of a CSV or TSV file, as objects under the header's names in lower case."""
    number = 0
    try:
        with opened(path, newline="") as file:
            header = ""
            while not header.strip():
                header = next(file)
            delimiter = delimiter_of(header)
            names = [name.strip().lower() for name in next(csv.reader([header], delimiter=delimiter))]
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            for number, row in enumerate(filter(None, reader), start=1):
                value: Any = row if len(row) > len(names) else table_record(dict(zip(names, row, strict=False)))
                yield number, f"{path}, row {number}", value
    except (OSError, EOFError, UnicodeDecodeError, zlib.error, csv.Error) as error:
        raise SetupError(f"{path} cannot be read after row {number} ({error}); expected UTF-8 CSV.") from None


def table_record(row: dict[str, str]) -> dict[str, Any]:
    """A row as a record of ours: answers are a JSON list, or divided by bars; other columns go to `meta`."""
    given = row.get("answers", row.get("answer"))
    answers: Any = given
    if given is not None:
        answers = [part.strip() for part in given.split("|") if part.strip()]
        if given.strip().startswith("["):
            try:
                answers = loads(given)
            except json.JSONDecodeError:
                answers = given  # a text where a list is expected: the converter says so
    meta = {name: value for name, value in row.items() if name not in ("id", "question", "answer", "answers")}
    return {"id": row.get("id") or None, "question": row.get("question"), "answers": answers, "meta": meta}
