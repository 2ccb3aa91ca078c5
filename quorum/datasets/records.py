"""Reads data files: JSON lines of questions or passages, plain or gzipped, and checks every record."""

import hashlib
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NotRequired, TextIO, TypedDict

from quorum.core.encodings import find_marked_encoding
from quorum.core.errors import SetupError
from quorum.core.files import open_unpacked, read_bounded_lines
from quorum.core.json_text import parse_json, replace_lone_surrogates
from quorum.core.metadata import flat_metadata
from quorum.core.state import Passage


class Record(TypedDict):
    """One question of an evaluation set.

    answers: accepted answers, empty if "unknown" is right; gold: ids of the passages that answer the question;
    gold_passages: gold passages that are not among `passages`. Experiments on the rank of gold passages insert a gold
    passage if none is retrieved. They take the first gold passage in `passages`; if there is none, the first in
    `gold_passages`. source: where the question comes from; unless the data state it, the name of the data file.
    meta: what else the data say about the question, for example its task under the key `answer_type` (docs/data.md).
    """

    id: str
    question: str
    answers: list[str]
    passages: list[Passage]
    gold: list[str]
    source: NotRequired[str]
    meta: NotRequired[dict[str, Any]]
    gold_passages: NotRequired[list[Passage]]


def hash_content(title: str, text: str) -> str:
    """16 hex digits that identify a passage by its title and text, so that equal passages have equal ids."""
    return hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:16]


def open_text(path: Path, newline: str | None = None) -> TextIO:
    """Open a text file for reading, in the encoding that its byte order mark says, else as UTF-8. It is unpacked if its
    name or its first bytes say that it is gzipped.
    """
    file = open_unpacked(path)
    try:
        encoding = find_marked_encoding(file.read(4)) or "utf-8"  # 4 bytes: the longest byte order mark
        file.seek(0)
        return io.TextIOWrapper(file, encoding=encoding, newline=newline)
    except BaseException:
        file.close()
        raise


def read_json_lines(path: Path, problems: list[str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) for each line of a file of JSON lines.

    For a broken line this raises a `SetupError` that names the line. With a list `problems`, the message is added to
    that list instead, and the line is skipped.
    """
    number = 0
    try:
        with open_text(path) as file:
            for number, line in enumerate(read_bounded_lines(file), start=1):
                if not line.strip():
                    continue
                try:
                    value = parse_object(line, f"{path}, line {number}")
                except SetupError as error:
                    if problems is None:
                        raise
                    problems.append(str(error))
                    continue
                yield number, value
    except FileNotFoundError:
        raise SetupError(f"There is no file {path}; give the path of a .jsonl or .jsonl.gz file.") from None
    except IsADirectoryError:
        raise SetupError(f"{path} is a folder; give the path of a .jsonl or .jsonl.gz file.") from None
    except (UnicodeDecodeError, EOFError, zlib.error, OSError) as error:
        system_message = error.strerror if isinstance(error, OSError) else None
        reason, where = system_message or error, f" after line {number}" if number else ""
        raise SetupError(f"{path} cannot be read{where} ({reason}); expected UTF-8 JSON lines.") from None


def parse_object(line: str, where: str) -> dict[str, Any]:
    """The JSON object on a line. Raises `SetupError`, which names the place `where`, for anything else."""
    try:
        value = parse_json(line)
    except json.JSONDecodeError as error:
        raise SetupError(f"{where}: not JSON ({error.msg}); expected one object per line.") from None
    if not isinstance(value, dict):
        raise SetupError(f"{where}: expected a JSON object, found {type(value).__name__}.")
    return value


def parse_passage(value: Any, where: str) -> Passage:
    """Check a passage {"id", "title", "text", "metadata"} and return it; title and metadata are optional."""
    if not isinstance(value, dict) or not isinstance(value.get("text"), str) or "id" not in value:
        raise SetupError(f'{where}: expected a passage {{"id", "title", "text"}}, found {preview_value(value)}.')
    passage = Passage(
        id=replace_lone_surrogates(str(value["id"])),
        title=replace_lone_surrogates(str(value.get("title") or "")),
        text=replace_lone_surrogates(value["text"]),
    )
    if isinstance(value.get("metadata"), dict) and value["metadata"]:
        passage["metadata"] = flat_metadata({}, value["metadata"])
    return passage


def preview_value(value: Any) -> str:
    """The first 80 characters of a value as JSON, or as Python writes it if JSON cannot."""
    try:
        return json.dumps(value)[:80]
    except (TypeError, ValueError):
        return repr(value)[:80]


def get_list(record: dict[str, Any], key: str, where: str) -> list[Any]:
    """The list under a key of a record; an empty list if the key is missing or null. Raises `SetupError` for any other
    value.

    where: the record's place in its file, for the message of the error.
    """
    content = record.get(key)
    if content is not None and not isinstance(content, list):
        raise SetupError(f"{where}: expected a list under {key!r}, found {preview_value(content)}.")
    return content or []


def read_passages(path: Path) -> list[Passage]:
    """Read all passages of a file of JSON lines {"id", "title", "text"}."""
    return [parse_passage(value, f"{path}, line {number}") for number, value in read_json_lines(path)]
