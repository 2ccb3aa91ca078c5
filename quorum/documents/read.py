"""Reads two kinds of files: documents, with the reader of their type, and files of passages (JSON lines)."""

import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quorum.core.files import LARGEST_FILE, format_megabytes, open_unpacked, read_bounded_lines, read_regular
from quorum.core.json_text import parse_json
from quorum.core.metadata import flat_metadata
from quorum.core.state import Passage, Place
from quorum.datasets.records import hash_content
from quorum.documents.document import Block, Document, Unreadable, clean_title, mark_items, remove_unstorable
from quorum.documents.readers import has_reader as has_reader
from quorum.documents.readers import is_text_file, load_reader
from quorum.documents.readers.json_file import format_record

# Bytes of a text file, and characters of the text of any document. Passages with their places, and the index, take
# about 20 times as much memory.
LARGEST_TEXT = 50_000_000
PASSAGE_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz")


def is_passage_file(path: Path) -> bool:
    """Whether the file's name says that each of its lines is a passage."""
    return path.name.lower().endswith(PASSAGE_SUFFIXES)


def read_document(path: Path) -> Document:
    """Read a document with the reader of its type. The title is empty if the file has none.

    Raises `Unreadable` if there is no reader for the type; if the file is damaged, empty, too large or not a regular
    file; and if it changes while it is read.
    """
    reader = load_reader(path)
    limit = LARGEST_TEXT if is_text_file(path) else LARGEST_FILE
    document = reader(read_stable_file(path, limit), path.name)
    if sum(len(block.text) for block in document.blocks) > LARGEST_TEXT:
        raise Unreadable(f"holds more than {LARGEST_TEXT // 1_000_000} million characters of text; split it")
    has_title = document.title != path.name  # the title of source code is its file's name
    title = clean_title(document.title) if has_title else document.title
    blocks = [clean_block(block) for block in document.blocks]
    if not any(block.text.strip() for block in blocks):
        if not title or not has_title:
            raise Unreadable("no text in it")
        blocks = [Block(title, "heading", 1)]  # a note of one line, which is its title
    return replace(document, title=title, metadata=flat_metadata({}, document.metadata), blocks=blocks)


def clean_block(block: Block) -> Block:
    text = remove_unstorable(block.text)
    return replace(block, text=mark_items(text) if block.kind == "text" else text)


def read_stable_file(path: Path, limit: int = LARGEST_FILE) -> bytes:
    """The bytes of a file. Raises `Unreadable` if it is empty, larger than `limit` bytes or not a regular file, if the
    system cannot read it, or if it changes while it is read.
    """
    try:
        before = path.stat()
        if before.st_size > limit:
            raise Unreadable(f"larger than {format_megabytes(limit)}, the most that is read of a file of this type")
        data = read_regular(path, limit)
        after = path.stat()
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size) or len(data) != after.st_size:
        raise Unreadable("changed while it was read; index it again")
    if not data.strip():
        raise Unreadable("empty")
    return data


def count_lines(path: Path) -> int:
    """The number of lines that are not empty; if each of these lines is a passage, the number of passages. 1 if there
    is no such line, or if the file cannot be read to its end.
    """
    count = 0
    try:
        with open_unpacked(path) as file:
            count = sum(1 for line in read_bounded_lines(file) if line.strip())
    except (OSError, EOFError, zlib.error):
        pass
    return max(count, 1)


def read_passage_lines(path: Path) -> Iterator[tuple[int, Passage | str]]:
    """For each line that is not empty: (line number from 1, the passage or the reason to skip the line).

    Raises `Unreadable` if the file is empty, or if it cannot be read to its end, for example because it is cut off.
    """
    number = 0
    try:
        modified_at = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
        with open_unpacked(path) as file:
            for number, line in enumerate(read_bounded_lines(file), start=1):
                if line.strip():
                    passage_or_reason = parse_line(line)
                    if not isinstance(passage_or_reason, str):
                        place = Place(file=str(path), line=number, modified=modified_at)
                        if metadata := passage_or_reason.pop("metadata", None):
                            place["metadata"] = metadata
                        passage_or_reason["places"] = [place]
                    yield number, passage_or_reason
    except (OSError, EOFError, zlib.error) as error:
        reason = str(error.strerror if isinstance(error, OSError) and error.strerror else error)
        raise Unreadable(f"cannot be read after line {number} ({reason})" if number else reason) from None
    if number == 0:
        raise Unreadable("empty")


def parse_line(line: bytes) -> Passage | str:
    """The passage of a line {"id", "title", "text", "metadata"}, or the reason why the line is no passage.

    A missing "title" is empty, a missing "id" is replaced by a hash of title and text, and "metadata" may be missing.
    An object whose "text" is missing or no string is a record: its names and values become the text.
    """
    try:
        value = parse_json(line)
    except UnicodeDecodeError:
        return "not UTF-8"
    except ValueError:
        return "not JSON"
    if not isinstance(value, dict):
        return 'not a passage {"id", "title", "text"}'
    passage_or_reason = make_line_passage(value) if isinstance(value.get("text"), str) else make_record_passage(value)
    if not isinstance(passage_or_reason, str) and isinstance(value.get("metadata"), dict):
        passage_or_reason["metadata"] = flat_metadata({}, value["metadata"])
    return passage_or_reason


def make_line_passage(value: dict[str, Any]) -> Passage | str:
    """The passage of an object whose "text" is a string, or the reason why it is none."""
    title, text = remove_unstorable(str(value.get("title") or "")), remove_unstorable(value["text"])
    if "\0" in value["text"]:
        return "NUL characters in it"
    if not text.strip():
        return "empty text"
    id_ = remove_unstorable(str(value.get("id") if value.get("id") is not None else "")).strip() or hash_content(
        title, text
    )
    return Passage(id=id_, title=title, text=text)


def make_record_passage(value: dict[str, Any]) -> Passage | str:
    """The passage of a record, an object whose "text" is missing or no string; or the reason why there is none.

    The passage's text is "name: value; name: value". An "id" stands first in it; the passage's id is a hash of the
    text.
    """
    try:
        text = remove_unstorable(format_record({name: inner for name, inner in value.items() if name != "id"}))
    except Unreadable as reason:
        return str(reason)
    if not text:
        return 'not a passage {"id", "title", "text"}'
    row = f"id: {value['id']}; {text}" if "id" in value else text
    return Passage(id=hash_content("", remove_unstorable(row)), title="", text=remove_unstorable(row))
