"""Reads the records of a file in JSON lines, as one JSON document, or as CSV; the content decides which it is."""

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from quorum.core.encodings import Unreadable
from quorum.core.errors import SetupError
from quorum.core.json_text import parse_json
from quorum.datasets.formats.tables import READING_ERRORS, read_first_lines, read_header, read_rows
from quorum.datasets.records import open_text, read_json_lines

Layout = Literal["lines", "document", "table"]
JSON_ENDINGS = frozenset((".json", ".jsonl", ".ndjson"))
# (the line or record number from 1; where the record stands, such as "data.jsonl, line 3", for messages; the record)
NumberedRecord = tuple[int, str, Any]


def read_numbered_records(path: Path, problems: list[str] | None) -> Iterator[NumberedRecord]:
    """Yield the records of a file. JSON lines and CSV are read one by one, a JSON document as a whole.

    problems: takes the messages about broken JSON lines, as in `read_json_lines`. A JSON document or a CSV file that
    cannot be read always raises a `SetupError`.
    """
    layout = detect_layout(path)
    if layout == "lines":
        yield from ((number, f"{path}, line {number}", value) for number, value in read_json_lines(path, problems))
    elif layout == "table":
        yield from read_rows(path)
    else:
        yield from number_records(path, read_document(path))


def detect_layout(path: Path) -> Layout:
    """Whether a file is JSON lines, a JSON document or a table. A broken file is "lines", because the reader of JSON
    lines reports the error. A file that is not JSON is a table if its header names questions and answers, or unless its
    name says that it is JSON.
    """
    is_named_json = not JSON_ENDINGS.isdisjoint(ending.lower() for ending in path.suffixes)
    try:
        first_line, second_line = [*read_first_lines(path), "", ""][:2]
    except Unreadable:  # a file that is not text
        return "lines" if is_named_json else "table"
    except READING_ERRORS:
        return "lines"
    if first_line.startswith("["):
        return "document"
    if first_line.startswith("{"):
        try:
            return "document" if has_records(parse_json(first_line)) else "lines"
        except json.JSONDecodeError:  # a document over several lines, or a broken line
            return "document" if second_line and not second_line.startswith("{") else "lines"
    is_table = read_header(iter([first_line, second_line])).names_questions or (first_line and not is_named_json)
    return "table" if is_table else "lines"


def has_records(value: dict[str, Any]) -> bool:
    """Whether an object contains records instead of being one."""
    if any(isinstance(value.get(name), list) for name in ("data", "Data")):
        return True
    return bool(value) and all(isinstance(part, dict) and is_asqa_split(part) for part in value.values())


def is_asqa_split(value: dict[str, Any]) -> bool:
    """Whether an object is a split of ASQA (train or dev): a map from ids to records."""
    return bool(value) and all(isinstance(record, dict) and "qa_pairs" in record for record in value.values())


def read_document(path: Path) -> Any:
    """The value of a JSON file; a `SetupError` if it cannot be read."""
    try:
        with open_text(path) as file:
            return parse_json(file.read())
    except json.JSONDecodeError as error:
        raise SetupError(
            f"{path}, line {error.lineno}: not JSON ({error.msg}); expected one JSON document, or one object per line."
        ) from None
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise SetupError(f"{path} cannot be read ({error}); expected UTF-8 JSON.") from None


def number_records(path: Path, value: Any) -> Iterator[NumberedRecord]:
    """The records of a document, each with its number from 1 and its place."""
    for number, record in enumerate(split_document(value), start=1):
        yield number, f"{path}, record {number}", record


def split_document(value: Any) -> Iterator[Any]:
    """The records of a document: the items of a list, of SQuAD's articles, of TriviaQA's Data or of ASQA's splits.

    Any other document is one record.
    """
    if isinstance(value, list):
        yield from value
    elif not isinstance(value, dict) or not has_records(value):
        yield value
    elif record_lists := [value[name] for name in ("data", "Data") if isinstance(value.get(name), list)]:
        for record in record_lists[0]:
            yield from split_article(record) if isinstance(record, dict) and "paragraphs" in record else [record]
    else:
        for split, records_by_id in value.items():
            yield from ({"sample_id": id_, "split": split} | record for id_, record in records_by_id.items())


def split_article(article: dict[str, Any]) -> Iterator[Any]:
    """The questions of a SQuAD article as records.

    A paragraph or question of another shape is yielded unchanged; the conversion to our format then refuses it.
    """
    paragraphs = article["paragraphs"]
    for paragraph in paragraphs if isinstance(paragraphs, list) else [paragraphs]:
        questions = paragraph.get("qas") if isinstance(paragraph, dict) else None
        if not isinstance(questions, list):
            yield paragraph
            continue
        for question in questions:
            article_fields = {"title": article.get("title"), "context": paragraph.get("context")}
            yield article_fields | question if isinstance(question, dict) else question
