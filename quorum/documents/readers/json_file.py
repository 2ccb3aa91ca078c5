"""JSON files: a list of records, or one object."""

from collections.abc import Iterator
from json import JSONDecodeError
from typing import Any

from quorum.core.encodings import decode_text
from quorum.core.json_text import parse_json
from quorum.documents.document import Block, Document, Unreadable, join_lines

MAX_VALUES = 1_000_000  # in one record


def read(data: bytes, name: str) -> Document:
    """A list becomes a block for each of its records, "name: value; name: value". Nested names are joined by dots.

    In a file that holds one object, the plain members become one block, and every member that is a list or an object
    becomes a section with the member's name as the heading.
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
    """The blocks of the value that a file holds."""
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
    """The blocks of a member of the file's object.

    A list of records gives a row for each record. An object whose members are all lists or objects gives a row for each
    member. Any other value gives one row.
    """
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
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        if len(parts) + len(stack) > MAX_VALUES:
            raise Unreadable(f"more than {MAX_VALUES:,} values in one record")
        name, inner = stack.pop()
        if isinstance(inner, dict):
            stack += [(f"{name}.{key}" if name else str(key), content) for key, content in reversed(inner.items())]
        elif isinstance(inner, list) and any(isinstance(item, dict | list) for item in inner):
            stack += [(name, item) for item in reversed(inner)]
        elif text := format_plain_value(inner):
            parts.append(f"{join_lines(name)}: {text}" if name else text)
    return "; ".join(parts)


def format_plain_value(value: Any) -> str:
    """A plain value as text; for a list of plain values their texts, separated by commas. null gives an empty text."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(format_plain_value, value)))
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return join_lines(str(value))
