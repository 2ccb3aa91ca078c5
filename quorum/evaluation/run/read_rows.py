"""Reads results.jsonl and details.jsonl of any origin. Every line is checked; an error names the bad line."""

import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from quorum.core.errors import SetupError
from quorum.core.files import open_regular, read_bounded_lines
from quorum.core.json_text import parse_json
from quorum.evaluation.run.column_scores import Row
from quorum.evaluation.run.old_keys import rename_old_keys

LARGEST_NUMBER = 1e15  # no measure, count or time is larger
REQUIRED_KEYS = ("method", "id")


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, row) of a results.jsonl. An incomplete last line, written by a killed run, is skipped.

    Raises `SetupError`, which names the line, for a line that is not a result and for a field of the wrong type.
    """
    for number, value in read_objects(path):
        if problem := find_problem(value):
            raise SetupError(f"{path}, line {number} is not a result ({problem}); remove the line.")
        yield number, value


def read_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of a file of JSON lines. An incomplete last line, written by a killed run, is skipped."""
    number = 0
    try:
        with open_regular(path) as file:
            for number, line in enumerate(read_bounded_lines(file), start=1):
                if not line.endswith(b"\n"):
                    return
                yield number, parse_object(line, f"{path}, line {number}")
    except OSError as error:
        raise SetupError(f"{path} cannot be read after line {number} ({error.strerror or error}).") from None


def parse_object(line: bytes, location: str) -> dict[str, Any]:
    """The JSON object of a line. Raises `SetupError` for anything else."""
    try:
        value = parse_json(line)
    except UnicodeDecodeError:
        raise SetupError(f"{location} is not UTF-8; remove the line.") from None
    except ValueError as error:
        raise SetupError(f"{location} is not JSON ({str(error)[:60]}); remove the line.") from None
    if not isinstance(value, dict):
        raise SetupError(f"{location} is not a result; remove the line.")
    return rename_old_keys(value)


def find_problem(row: dict[str, Any]) -> str:
    """What is wrong with the first field that is missing or of a wrong type; empty if no field is."""
    hints = get_row_types()
    for name in REQUIRED_KEYS:
        if not isinstance(row.get(name), str):
            return f"its {name} is missing or no text"
    for name, value in row.items():
        if name in hints and value is not None and not has_type(value, hints[name]):
            return f"its {name} is of a wrong type"
    return ""


@cache
def get_row_types() -> dict[str, Any]:
    """The type of every field of a row."""
    return get_type_hints(Row)


def has_type(value: Any, hint: Any) -> bool:
    """Whether a JSON value fits a field. A number may also be given as true or false."""
    kinds = get_args(hint) if get_origin(hint) not in (list, None) else (hint,)
    for kind in kinds:
        if get_origin(kind) is list:
            if isinstance(value, list) and all(isinstance(item, str) for item in value):
                return True
        elif kind is str and isinstance(value, str):
            return True
        elif kind in (int, float, bool) and isinstance(value, bool | int | float):
            return isinstance(value, bool) or (abs(value) <= LARGEST_NUMBER and math.isfinite(value))
    return False
