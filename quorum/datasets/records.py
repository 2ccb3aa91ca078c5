"""Data records: questions with answers and gold passages, and passages, read from files (also gzip)."""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NotRequired, TextIO, TypedDict, cast

from quorum.core.errors import SetupError
from quorum.core.json_text import loads, whole
from quorum.core.state import Passage


class Record(TypedDict):
    """One question of an evaluation set. `answers` is empty where "unknown" is right; `gold` holds passage ids.

    gold_passages: gold passages that are not among `passages`; only experiments that place gold passages add them.
    """

    id: str
    question: str
    answers: list[str]
    passages: list[Passage]
    gold: list[str]
    source: NotRequired[str]
    meta: NotRequired[dict[str, Any]]
    gold_passages: NotRequired[list[Passage]]


def content_hash(title: str, text: str) -> str:
    """16 hex digits that name a passage by what it says, whichever document says it."""
    return hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:16]


def opened(path: Path, newline: str | None = None) -> TextIO:
    """A text file to read, unpacked where its name or its first bytes say gzip."""
    packed = path.suffix == ".gz"
    if not packed:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
    opener = gzip.open if packed else open
    return cast(TextIO, opener(path, "rt", encoding="utf-8-sig", newline=newline))


def lines_of(path: Path, bad: list[str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number from 1, object) of a file of JSON lines. A broken line is a `SetupError` that names it, or, where
    `bad` is given, a sentence in it.
    """
    number = 0
    try:
        with opened(path) as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                try:
                    value = object_of(line, f"{path}, line {number}")
                except SetupError as error:
                    if bad is None:
                        raise
                    bad.append(str(error))
                    continue
                yield number, value
    except FileNotFoundError:
        raise SetupError(f"There is no file {path}; give the path of a .jsonl or .jsonl.gz file.") from None
    except IsADirectoryError:
        raise SetupError(f"{path} is a folder; give the path of a .jsonl or .jsonl.gz file.") from None
    except (UnicodeDecodeError, EOFError, zlib.error, OSError) as error:
        raise SetupError(f"{path} cannot be read after line {number} ({error}); expected UTF-8 JSON lines.") from None


def object_of(line: str, where: str) -> dict[str, Any]:
    """The JSON object on a line."""
    try:
        value = loads(line)
    except json.JSONDecodeError as error:
        raise SetupError(f"{where}: not JSON ({error.msg}); expected one object a line.") from None
    if not isinstance(value, dict):
        raise SetupError(f"{where}: expected a JSON object, found {type(value).__name__}.")
    return value


def as_passage(value: Any, where: str) -> Passage:
    """A passage from {"id", "title", "text"}; title may be missing."""
    if not isinstance(value, dict) or not isinstance(value.get("text"), str) or "id" not in value:
        raise SetupError(f'{where}: expected a passage {{"id", "title", "text"}}, found {shown(value)}.')
    return Passage(id=whole(str(value["id"])), title=whole(str(value.get("title") or "")), text=whole(value["text"]))


def shown(value: Any) -> str:
    """The beginning of a value, as JSON where it is some."""
    try:
        return json.dumps(value)[:80]
    except (TypeError, ValueError):
        return repr(value)[:80]


def list_of(value: dict[str, Any], name: str, where: str) -> list[Any]:
    """The list under that name; missing or null is an empty one."""
    found = value.get(name)
    if found is not None and not isinstance(found, list):
        raise SetupError(f"{where}: expected a list under {name!r}, found {shown(found)}.")
    return found or []


def read_passages(path: Path) -> list[Passage]:
    """All passages of a file of JSON lines {"id", "title", "text"}."""
    return [as_passage(value, f"{path}, line {number}") for number, value in lines_of(path)]
