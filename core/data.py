"""Data records: questions with answers and gold passages, and passages, read from JSON lines (also gzip)."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from core.errors import SetupError
from core.state import Passage


class Record(TypedDict):
    """One question of an evaluation set. `answers` is empty where "unknown" is right; `gold` holds passage ids."""

    id: str
    question: str
    answers: list[str]
    passages: list[Passage]
    gold: list[str]
    source: NotRequired[str]
    meta: NotRequired[dict[str, Any]]


def lines_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number from 1, object) of a .jsonl or .jsonl.gz file. A broken line is a `SetupError` that names it."""
    number = 0
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                try:
                    value = json.loads(line)
                except json.JSONDecodeError as error:
                    raise SetupError(
                        f"{path}, line {number}: not JSON ({error.msg}); expected one object a line."
                    ) from None
                if not isinstance(value, dict):
                    raise SetupError(f"{path}, line {number}: expected a JSON object, found {type(value).__name__}.")
                yield number, value
    except FileNotFoundError:
        raise SetupError(f"There is no file {path}; give the path of a .jsonl or .jsonl.gz file.") from None
    except IsADirectoryError:
        raise SetupError(f"{path} is a folder; give the path of a .jsonl or .jsonl.gz file.") from None
    except (UnicodeDecodeError, EOFError, zlib.error, OSError) as error:
        raise SetupError(f"{path} cannot be read after line {number} ({error}); expected UTF-8 JSON lines.") from None


def as_passage(value: Any, where: str) -> Passage:
    """A passage from {"id", "title", "text"}; title may be missing."""
    if not isinstance(value, dict) or not isinstance(value.get("text"), str) or "id" not in value:
        raise SetupError(f'{where}: expected a passage {{"id", "title", "text"}}, found {shown(value)}.')
    return Passage(id=str(value["id"]), title=str(value.get("title") or ""), text=value["text"])


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


def read_questions(path: Path) -> Iterator[Record]:
    """The questions of an evaluation set, one at a time."""
    for number, value in lines_of(path):
        where = f"{path}, line {number}"
        question, answers = value.get("question"), value.get("answers")
        if (
            not isinstance(question, str)
            or not isinstance(answers, list)
            or not all(isinstance(a, str) for a in answers)
        ):
            raise SetupError(
                f'{where}: expected {{"id", "question": text, "answers": [text, ...]}}, found {shown(value)}.'
            )
        yield Record(
            id=str(value.get("id", number)),
            question=question,
            answers=answers,
            passages=[as_passage(passage, where) for passage in list_of(value, "passages", where)],
            gold=[str(id_) for id_ in list_of(value, "gold", where)],
            source=str(value.get("source", path.name)),
            meta=value.get("meta") or {},
        )
