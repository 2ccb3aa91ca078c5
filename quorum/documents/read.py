"""Reading files: documents by the reader of their type, and passages (JSON lines)."""

import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from quorum.core.files import bounded_lines, open_unpacked, read_regular
from quorum.core.json_text import parse_json
from quorum.core.state import Passage, Place
from quorum.datasets.records import content_hash
from quorum.documents.document import Document, Unreadable, clean, one_line
from quorum.documents.readers import is_read as is_read
from quorum.documents.readers import reader_of
from quorum.documents.readers.json_file import record_text

LINES = (".jsonl", ".ndjson", ".jsonl.gz")


def is_lines(path: Path) -> bool:
    """Whether each line of the file is a passage."""
    return path.name.lower().endswith(LINES)


def read_document(path: Path) -> Document:
    """A document of a known type, by the reader of its type; its title is empty where the file says none.

    Raises `Unreadable`: for a type without a reader, for a file that is damaged, empty, too large or no regular file,
    and for a file that changes while it is read.
    """
    reader = reader_of(path)
    document = reader(read_settled(path), path.name)
    if not any(block.text.strip() for block in document.blocks):
        raise Unreadable("no text in it")
    return replace(
        document,
        title=clean(one_line(document.title)),
        blocks=[replace(block, text=clean(block.text)) for block in document.blocks],
    )


def read_settled(path: Path) -> bytes:
    """The bytes of a file that does not change while it is read."""
    try:
        before = path.stat()
        data = read_regular(path)
        after = path.stat()
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size) or len(data) != after.st_size:
        raise Unreadable("changed while it was read; index it again")
    if not data.strip():
        raise Unreadable("empty")
    return data


def count_lines(path: Path) -> int:
    """Lines of a file of passages; 1 for a file that cannot be read."""
    count = 0
    try:
        with open_unpacked(path) as file:
            count = sum(1 for line in bounded_lines(file) if line.strip())
    except (OSError, EOFError, zlib.error):
        pass
    return max(count, 1)


def read_lines(path: Path) -> Iterator[tuple[int, Passage | str]]:
    """(line number from 1, passage, or why the line is skipped). Raises `Unreadable` where a file breaks off."""
    number = 0
    try:
        modified = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
        with open_unpacked(path) as file:
            for number, line in enumerate(bounded_lines(file), start=1):
                if line.strip():
                    found = line_passage(line)
                    if not isinstance(found, str):
                        found["places"] = [Place(file=str(path), line=number, modified=modified)]
                    yield number, found
    except (OSError, EOFError, zlib.error) as error:
        reason = str(error.strerror if isinstance(error, OSError) and error.strerror else error)
        raise Unreadable(f"cannot be read after line {number} ({reason})" if number else reason) from None
    if number == 0:
        raise Unreadable("empty")


def line_passage(line: bytes) -> Passage | str:
    """The passage of a line {"id", "title", "text"}, or why it is none. `title` may be missing, `id` too.

    Another object is a record: its names and values are the text.
    """
    try:
        value = parse_json(line)
    except UnicodeDecodeError:
        return "not UTF-8"
    except ValueError:
        return "not JSON"
    if not isinstance(value, dict):
        return 'not a passage {"id", "title", "text"}'
    if not isinstance(value.get("text"), str):
        return record_passage(value)
    title, text = clean(str(value.get("title") or "")), clean(value["text"])
    if "\0" in value["text"]:
        return "NUL characters in it"
    if not text.strip():
        return "empty text"
    id_ = clean(str(value.get("id") if value.get("id") is not None else "")).strip() or content_hash(title, text)
    return Passage(id=id_, title=title, text=text)


def record_passage(value: dict[str, object]) -> Passage | str:
    """A record without a text of its own as "name: value; name: value"."""
    try:
        text = clean(record_text({name: inner for name, inner in value.items() if name != "id"}))
    except Unreadable as reason:
        return str(reason)
    if not text:
        return 'not a passage {"id", "title", "text"}'
    row = f"id: {value['id']}; {text}" if "id" in value else text
    return Passage(id=content_hash("", clean(row)), title="", text=clean(row))
