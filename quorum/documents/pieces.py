"""Cuts a document or a long passage into the passages that are indexed."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from quorum.core.state import Passage, Place
from quorum.datasets.records import content_hash
from quorum.documents.document import GAP, Block, Document, one_line
from quorum.documents.read import read_document
from quorum.documents.split import Unit, packed, parts, size, split, tidy, units

LONGEST_LINE = 3
DEEPEST_INDENT = 200
LONGEST_NAME = 200  # characters of a heading in a path


class Located(NamedTuple):
    """A unit of the splitter with the block that it comes from, and the headings above it."""

    unit: Unit
    block: Block
    headings: tuple[str, ...]


class Piece(NamedTuple):
    """A passage of a document: its text and where it stands. start, end: characters of the document's text."""

    text: str
    start: int
    end: int
    page: int | None
    headings: tuple[str, ...]


def pieces_of(path: Path, words: int = 100, notes: list[tuple[str, str]] | None = None) -> Iterator[Passage]:
    """The passages of a document, with ids made from their content. `notes` receives (path, note for the user).

    Raises `Unreadable`.
    """
    document = read_document(path)
    if notes is not None:
        notes += [(str(path), note) for note in document.notes]
    title = document.title or path.stem
    modified = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    for piece in split_document(document, words):
        place = Place(file=str(path), start=piece.start, end=piece.end, modified=modified)
        if piece.page is not None:
            place["page"] = piece.page
        if piece.headings:
            place["headings"] = list(piece.headings)
        if document.metadata:
            place["metadata"] = dict(document.metadata)
        yield named(Passage(id="", title=title, text=piece.text, places=[place]))


def named(passage: Passage) -> Passage:
    """The passage with an id made of its content."""
    passage["id"] = passage_hash(passage)
    return passage


def headings_of(passage: Passage) -> list[str]:
    """The headings above a passage, the same in all its places."""
    places = passage.get("places")
    return places[0].get("headings", []) if places else []


def passage_hash(passage: Passage) -> str:
    """16 hex digits that identify a passage's content: its title, the headings above it, its text."""
    headings = headings_of(passage)
    text = f"{' > '.join(headings)}\n{passage['text']}" if headings else passage["text"]
    return content_hash(passage["title"], text)


def split_document(document: Document, words: int = 100) -> Iterator[Piece]:
    """The passages of a document, of at most `words` words each, none across sections.

    A section is what stands under a heading; its passages begin and end as `quorum.documents.split` says, rows of
    tables and lines of code are kept whole. A heading stays with what follows it.
    """
    section: list[Located] = []
    for one in located(document, 2 * words):
        if one.unit.heading and one.block.kind == "heading" and any(not is_heading(before) for before in section):
            yield from section_pieces(document, section, 2 * words)
            section = []
        section.append(one)
    yield from section_pieces(document, section, 2 * words)


def is_heading(one: Located) -> bool:
    return one.block.kind == "heading"


def located(document: Document, limit: int) -> Iterator[Located]:
    """The units of all blocks in their order; offsets are those of the document's text."""
    text, begin = document.text, 0
    above: list[tuple[int, str]] = []
    for block in document.blocks:
        if block.kind == "heading":
            above = [one for one in above if one[0] < block.level]
            above.append((block.level, one_line(block.text)[:LONGEST_NAME]))
        headings = (*(name for _, name in above), *block.names)
        for unit in block_units(text, begin, begin + len(block.text), block, limit):
            yield Located(unit, block, headings)
        begin += len(block.text) + len(GAP)


def block_units(text: str, begin: int, end: int, block: Block, limit: int) -> Iterator[Unit]:
    """The units of a block that may not be cut: sentences of prose, lines of code, a row, a heading."""
    if block.kind == "text":
        for unit in units(text[begin:end], limit):
            yield unit._replace(start=unit.start + begin, end=unit.end + begin)
        return
    for start, stop in line_spans(text, begin, end):
        length = size(text[start:stop])
        if length > limit:
            yield from parts(text, start, stop, limit)
        elif length:
            yield Unit(start, stop, length, block.kind == "heading")


def line_spans(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """(start, end) of the non-empty lines in a part of the text, without the white space at their end."""
    while begin < end:
        stop = text.find("\n", begin, end)
        stop = end if stop < 0 else stop
        line = text[begin:stop]
        if shown := line.strip():
            indent = len(line) - len(line.lstrip())
            start = begin + (indent if indent > DEEPEST_INDENT else 0)
            yield start, begin + indent + len(shown)
        begin = stop + 1


def section_pieces(document: Document, section: Sequence[Located], limit: int) -> Iterator[Piece]:
    """The passages of one section."""
    for first, last in packed([one.unit for one in section], limit):
        some = section[first:last]
        under = [one.headings for one in some if not is_heading(one)] or [some[0].headings]
        text = "\n".join(
            block_text(document.text[run[0].unit.start : run[-1].unit.end], run[0].block)
            for run in (list(group) for _, group in groupby(some, key=lambda one: id(one.block)))
        )
        page = next((one.block.page for one in some if not is_heading(one)), some[0].block.page)
        yield Piece(text, some[0].unit.start, some[-1].unit.end, page, shared_headings(under))


def shared_headings(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The common beginning of all paths."""
    shared = paths[0]
    for path in paths[1:]:
        length = next((place for place, (a, b) in enumerate(zip(shared, path, strict=False)) if a != b), len(path))
        shared = shared[:length]
    return shared


def block_text(text: str, block: Block) -> str:
    """A block, or some of it, as it is shown."""
    if block.kind == "text":
        return tidy(text)
    return "\n".join(line.rstrip() for line in text.split("\n")) if block.kind == "code" else one_line(text)


def pieces_of_passage(passage: Passage, words: int) -> Iterator[Passage]:
    """The passage unchanged, or split into parts if it is far too long."""
    limit = 2 * LONGEST_LINE * words
    if len(passage["text"]) <= limit or size(passage["text"]) <= limit:
        yield passage
        return
    for part, text in enumerate(split(passage["text"], words), start=1):
        piece = Passage(id=f"{passage['id']}#{part}", title=passage["title"], text=text)
        if "places" in passage:
            piece["places"] = passage["places"]
        yield piece
