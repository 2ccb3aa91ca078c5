"""Data records: questions with answers and gold passages, and passages, read from JSON lines (also gzip)."""

import gzip
import json
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
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                try:
                    value = json.loads(line)
                except json.JSONDecodeError as error:
                    raise SetupError(f"{path}, line {number}: not JSON ({error.msg}); expected one object a line.") from None
                if not isinstance(value, dict):
                    raise SetupError(f"{path}, line {number}: expected a JSON object, found {type(value).__name__}.")
                yield number, value
    except FileNotFoundError:
        raise SetupError(f"There is no file {path}; give the path of a .jsonl or .jsonl.gz file.") from None
    except IsADirectoryError:
        raise SetupError(f"{path} is a folder; give the path of a .jsonl or .jsonl.gz file.") from None
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile, OSError) as error:
        raise SetupError(f"{path} cannot be read after line {number} ({error}); expected UTF-8 JSON lines.") from None


def as_passage(value: Any, where: str) -> Passage:
    """A passage from {"id", "title", "text"}; title may be missing."""
    if not isinstance(value, dict) or not isinstance(value.get("text"), str) or "id" not in value:
        raise SetupError(f'{where}: expected a passage {{"id", "title", "text"}}, found {json.dumps(value)[:80]}.')
    return Passage(id=str(value["id"]), title=str(value.get("title") or ""), text=value["text"])


def read_passages(path: Path) -> list[Passage]:
    """All passages of a file of JSON lines {"id", "title", "text"}."""
    return [as_passage(value, f"{path}, line {number}") for number, value in lines_of(path)]


def read_questions(path: Path) -> Iterator[Record]:
    """The questions of an evaluation set, one at a time."""
    for number, value in lines_of(path):
        where = f"{path}, line {number}"
        question, answers = value.get("question"), value.get("answers")
        if not isinstance(question, str) or not isinstance(answers, list) or not all(isinstance(a, str) for a in answers):
            raise SetupError(f'{where}: expected {{"id", "question": text, "answers": [text, ...]}}, found {json.dumps(value)[:80]}.')
        yield Record(
            id=str(value.get("id", number)),
            question=question,
            answers=answers,
            passages=[as_passage(passage, where) for passage in value.get("passages") or []],
            gold=[str(id_) for id_ in value.get("gold") or []],
            source=str(value.get("source", path.name)),
            meta=value.get("meta") or {},
        )
