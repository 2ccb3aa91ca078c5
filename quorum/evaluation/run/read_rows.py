"""Reads results.jsonl and judged.jsonl, which other programs may have written.

Every line is checked. An error names the bad line.
"""

import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from quorum.core.errors import SetupError
from quorum.core.files import open_regular, read_bounded_lines
from quorum.core.json_text import parse_json
from quorum.evaluation.run.column_scores import Row

LARGEST_NUMBER = 1e15  # no measure, count or time is larger
REQUIRED_KEYS = ("method", "id")


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, row) of each line of results.jsonl. An incomplete last line, written by a killed run, is skipped.

    Raises `SetupError`, which names the line, for a line that is not a result and for a field of the wrong type.
    """
    for number, value in read_objects(path):
        if problem := find_problem(value):
            raise SetupError(f"{path}, line {number} is not a result ({problem}); remove the line.")
        yield number, value


def read_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of each line of a JSON Lines file.

    An incomplete last line, written by a killed run, is skipped.
    """
    number = 0
    try:
        with open_regular(path) as file:
            for number, line in enumerate(read_bounded_lines(file), start=1):
                if not line.endswith(b"\n"):
                    return
                yield number, parse_object(line, f"{path}, line {number}")
    except OSError as error:
        after_line = f" after line {number}" if number else ""
        raise SetupError(
            f"{path} cannot be read{after_line} ({error.strerror or error}); make the file readable, or give another "
            "folder of results."
        ) from None


def parse_object(line: bytes, location: str) -> dict[str, Any]:
    """The JSON object on a line. Raises `SetupError` if the line is no JSON object.

    location: the file and the line, for the error.
    """
    try:
        value = parse_json(line)
    except UnicodeDecodeError:
        raise SetupError(f"{location} is not UTF-8; remove the line.") from None
    except ValueError as error:
        raise SetupError(f"{location} is not JSON ({str(error)[:60]}); remove the line.") from None
    if not isinstance(value, dict):
        raise SetupError(f"{location} is not a result; remove the line.")
    return value


def find_problem(row: dict[str, Any]) -> str:
    """What is wrong with the first field that is missing or of a wrong type; empty if no field is."""
    hints = get_row_types()
    for name in REQUIRED_KEYS:
        if not isinstance(row.get(name), str):
            return f"its {name} is missing or not a string"
    for name, value in row.items():
        if name in hints and value is not None and not has_type(value, hints[name]):
            return f"its {name} is of a wrong type"
    return ""


@cache
def get_row_types() -> dict[str, Any]:
    """The type of every field of a row."""
    return get_type_hints(Row)


def has_type(value: Any, hint: Any) -> bool:
    """Whether a JSON value fits the type of a field. Truth values fit number fields, and numbers fit fields of truth
    values. A number must be finite and not larger than LARGEST_NUMBER. A list must hold strings only.
    """
    accepted = list_json_types(hint)
    if isinstance(value, str):
        return str in accepted
    if isinstance(value, bool):
        return float in accepted
    if isinstance(value, int | float):
        return float in accepted and abs(value) <= LARGEST_NUMBER and math.isfinite(value)
    return isinstance(value, list) and list in accepted and all(isinstance(item, str) for item in value)


@cache
def list_json_types(hint: Any) -> frozenset[type]:
    """Which of str, float (numbers and truth values) and list a type hint accepts, alone or in a union."""
    members = get_args(hint) if get_origin(hint) not in (list, None) else (hint,)
    named = {get_origin(member) or member for member in members}
    return frozenset(({float} if named & {int, float, bool} else set()) | (named & {str, list}))
