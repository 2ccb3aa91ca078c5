"""JSON files: a list of records, or one object."""

from collections.abc import Iterator
from json import JSONDecodeError
from typing import Any

from quorum.core.json_text import parse_json
from quorum.documents.document import Block, Document, Unreadable, join_lines
from quorum.documents.encodings import decode_text

MAX_VALUES = 1_000_000


def read(data: bytes, name: str) -> Document:
    """A block for each record, "name: value; name: value". Nested names are joined by dots.

    In an object, a member with several values becomes a section with its name as the heading.
    """
    text, note = decode_text(data)
    try:
        value = parse_json(text)
    except JSONDecodeError as error:
        location = f" (line {error.lineno})" if error.lineno > 1 else ""
        raise Unreadable(f"not JSON: {error.msg[:60]}{location}") from None
    title = value.get("title") if isinstance(value, dict) else None
    blocks = list(make_blocks(value))
    return Document(title if isinstance(title, str) else "", blocks, notes=[note] if note else [])


def make_blocks(value: Any) -> Iterator[Block]:
    """The blocks of a value."""
    if isinstance(value, list):
        yield from (Block(row, "row") for item in value if (row := format_record(item)))
    elif isinstance(value, dict):
        plain_values = {name: inner for name, inner in value.items() if not isinstance(inner, list | dict)}
        if row := format_record(plain_values):
            yield Block(row, "row")
        for name, inner in value.items():
            if name not in plain_values and inner:
                yield Block(join_lines(str(name)), "heading", 2)
                yield from make_member_blocks(inner)
    elif row := format_record(value):
        yield Block(row, "row")


def make_member_blocks(value: Any) -> Iterator[Block]:
    """The blocks of a member: a row for every record of a list, and for every object in an object."""
    if isinstance(value, dict) and value and all(isinstance(inner, dict | list) for inner in value.values()):
        for name, inner in value.items():
            if row := format_record(inner):
                yield Block(f"{join_lines(str(name))}: {row}", "row")
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        yield from (Block(row, "row") for item in value if (row := format_record(item)))
    elif row := format_record(value):
        yield Block(row, "row")


def format_record(value: Any) -> str:
    """A value on one line.

    >>> format_record({"dam": {"name": "Vell", "height": 87}, "rivers": ["Orl", "Tam"]})
    'dam.name: Vell; dam.height: 87; rivers: Orl, Tam'
    """
    parts: list[str] = []
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        if len(parts) + len(waiting) > MAX_VALUES:
            raise Unreadable("too many values in one record")
        name, inner = waiting.pop()
        if isinstance(inner, dict):
            waiting += [(f"{name}.{key}" if name else str(key), content) for key, content in reversed(inner.items())]
        elif isinstance(inner, list) and any(isinstance(item, dict | list) for item in inner):
            waiting += [(name, item) for item in reversed(inner)]
        elif text := format_plain_value(inner):
            parts.append(f"{join_lines(name)}: {text}" if name else text)
    return "; ".join(parts)


def format_plain_value(value: Any) -> str:
    """A plain value as text, or a list of plain values, separated by commas."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(format_plain_value, value)))
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return join_lines(str(value))
