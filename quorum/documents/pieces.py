"""Splits documents and long passages into the passages that are indexed."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

from quorum.core.state import Passage, Place
from quorum.datasets.records import hash_content
from quorum.documents.document import BLOCK_GAP, Block, Document, join_lines
from quorum.documents.outline import find_context, find_context_of_part, find_first_sentences
from quorum.documents.read import read_document
from quorum.documents.sections import (
    ITEM,
    LocatedUnit,
    find_sections,
    find_shared_headings,
    is_in_heading_block,
    join_tiny_sections,
    list_paths,
)
from quorum.documents.split import (
    Unit,
    count_half_words,
    normalize_spacing,
    pack_ranges,
    split_overlong,
    split_text,
    split_units,
)

# A passage from a file of JSON lines is split if it has more than this many times the words that a passage should have.
MAX_UNSPLIT_FACTOR = 3
BULLET = "- "
DEEPEST_INDENT = 200  # characters; if a line is indented more deeply, its whole indentation is dropped
LONGEST_HEADING = 200  # characters that a passage keeps of each heading above it


class Piece(NamedTuple):
    """A passage of a document: its text, its position and the headings above it. start, end: offsets in the document's
    text, in characters. page, last_page: where it begins and ends, from 1; None if the file has no pages. context: the
    first sentence of its section, if it was asked for and the piece lacks it.
    """

    text: str
    start: int
    end: int
    page: int | None
    headings: tuple[str, ...]
    last_page: int | None = None
    context: str = ""


def read_file_passages(
    path: Path, words: int = 100, notes: list[tuple[str, str]] | None = None, *, outline: bool = False
) -> Iterator[Passage]:
    """The passages of a file, of at most `words` words each, with ids made from their content. Adds (path, note for the
    user) to `notes`. outline: whether they have a `context` (see `quorum.documents.outline`).

    Raises `Unreadable` if the file cannot be read.
    """
    document = read_document(path)
    if notes is not None:
        notes += [(str(path), note) for note in document.notes]
    title = document.title or path.stem
    metadata = dict(document.metadata)  # its passages share it
    modified_at = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    for piece in split_document(document, words, outline=outline):
        place = Place(file=str(path), start=piece.start, end=piece.end, modified=modified_at)
        if piece.page is not None:
            place["page"] = piece.page
            if piece.last_page is not None and piece.last_page > piece.page:
                place["last_page"] = piece.last_page
        if piece.headings:
            place["headings"] = list(piece.headings)
        if metadata:
            place["metadata"] = metadata
        yield set_content_id(add_context(Passage(id="", title=title, text=piece.text, places=[place]), piece.context))


def add_context(passage: Passage, context: str) -> Passage:
    """Give a passage its context, if it is not empty."""
    if context:
        passage["context"] = context
    return passage


def set_content_id(passage: Passage) -> Passage:
    """Give a passage an id made from its content."""
    passage["id"] = hash_passage(passage)
    return passage


def get_headings(passage: Passage) -> list[str]:
    """The headings above a passage. They are the same in all its places."""
    places = passage.get("places")
    return places[0].get("headings", []) if places else []


def hash_passage(passage: Passage) -> str:
    """16 hex digits that identify a passage's content: its title, the headings above it, its text."""
    headings = get_headings(passage)
    text = f"{' > '.join(headings)}\n{passage['text']}" if headings else passage["text"]
    return hash_content(passage["title"], text)


def split_document(document: Document, words: int = 100, *, outline: bool = False) -> Iterator[Piece]:
    """The passages of a document, of at most `words` words each.

    Each passage lies in one section, the text below one heading; sections of fewer than ten words are joined to a
    neighbour (see `quorum.documents.sections`). Headings stay with the text after them if the headings and the first
    sentence, row or line of that text fit into one passage. A row of a table or a line of code is only split if it is
    longer than a passage. Prose is split as in `quorum.documents.split`. outline: whether pieces have their context.
    """
    max_half_words = 2 * words  # a word counts as 2 half words, a character of a script without spaces as 1
    sections = find_sections(locate_units(document, max_half_words))
    for section in join_tiny_sections(sections, max_half_words):
        yield from split_section(document, section, max_half_words, outline=outline)


def locate_units(document: Document, max_half_words: int) -> Iterator[LocatedUnit]:
    """The units of all blocks in order. Their offsets refer to the document's text.

    max_half_words: the longest unit, in half words: a word counts 2, a character of a script without spaces 1.
    """
    text, begin = document.text, 0
    open_headings: list[tuple[int, str]] = []
    for block in document.blocks:
        if block.kind == "heading":
            open_headings = [heading for heading in open_headings if heading[0] < block.level]
            open_headings.append((block.level, join_lines(block.text)[:LONGEST_HEADING]))
        headings = (*(name for _, name in open_headings), *block.definition_names)
        for unit in split_block(text, begin, begin + len(block.text), block, max_half_words):
            yield LocatedUnit(unit, block, headings)
        begin += len(block.text) + len(BLOCK_GAP)


def split_block(text: str, begin: int, end: int, block: Block, max_half_words: int) -> Iterator[Unit]:
    """The units of a block: its sentences, its lines of code, its row or its heading.

    A sentence, line, row or heading longer than `max_half_words` is cut into several units. No unit is split further.
    """
    if block.kind == "text":
        for unit in split_units(text[begin:end], max_half_words):
            yield unit._replace(start=unit.start + begin, end=unit.end + begin)
        return
    for start, stop in find_line_spans(text, begin, end):
        length = count_half_words(text[start:stop])
        if length > max_half_words:
            yield from split_overlong(text, start, stop, max_half_words)
        elif length:
            yield Unit(start, stop, length, block.kind == "heading")


def find_line_spans(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """(start, end) of the non-empty lines between `begin` and `end`, without the white space at the end of a line.

    A line keeps its indentation unless it is deeper than DEEPEST_INDENT.
    """
    while begin < end:
        stop = text.find("\n", begin, end)
        stop = end if stop < 0 else stop
        line = text[begin:stop]
        if stripped_line := line.strip():
            indent = len(line) - len(line.lstrip())
            start = begin + (indent if indent > DEEPEST_INDENT else 0)
            yield start, begin + indent + len(stripped_line)
        begin = stop + 1


def split_section(
    document: Document, section: Sequence[LocatedUnit], max_half_words: int, *, outline: bool = False
) -> Iterator[Piece]:
    """The passages of one section. A list that goes on in a further passage has the line above it there, too. outline:
    as in `split_document`.
    """
    first_sentences = find_first_sentences(section) if outline else {}
    section = mark_introductions(document.text, section)
    for first, last in pack_ranges([unit.unit for unit in section], max_half_words):
        units = section[first:last]
        text = "\n".join(
            format_block(document.text[block_units[0].unit.start : block_units[-1].unit.end], block_units[0].block)
            for block_units in (list(group) for _, group in groupby(units, key=lambda unit: id(unit.block)))
        )
        if subject := find_subject(document.text, section, first, last, max_half_words):
            text = f"{subject}\n{text}"
        headings = find_shared_headings(list_paths(units))
        # A heading at the end of a page belongs to the text on the next one; the title of a whole page, such as the
        # first slide, does not.
        heading_pages = {unit.block.page for unit in units if is_in_heading_block(unit)}
        in_text = (unit.block.page for unit in units if not is_in_heading_block(unit))
        page = units[0].block.page if len(heading_pages) > 1 else next(in_text, units[0].block.page)
        start, end, last_page = units[0].unit.start, units[-1].unit.end, units[-1].block.page
        context = find_context(document.text, first_sentences, headings, start, text) if outline else ""
        yield Piece(text, start, end, page, headings, last_page, context)


def mark_introductions(text: str, section: Sequence[LocatedUnit]) -> list[LocatedUnit]:
    """The units of a section, of which those that introduce the next are marked."""
    marked = [
        unit._replace(unit=unit.unit._replace(introduces=True)) if is_introduction(text, unit, following) else unit
        for unit, following in pairwise(section)
    ]
    return [*marked, *section[-1:]]


def is_introduction(text: str, unit: LocatedUnit, following: LocatedUnit) -> bool:
    """Whether a unit introduces the next one: a line that ends with a colon, the line above a list or above code, and
    a sentence that goes on in the next block.
    """
    if is_in_heading_block(unit) or unit.block.kind == "row" or is_in_heading_block(following):
        return False
    is_end = text[unit.unit.start : unit.unit.end].rstrip().endswith
    is_text = unit.block.kind == "text"
    if is_text and is_end(":"):
        return True
    if unit.block is following.block:
        return False
    if following.block.kind == "code" and is_text:
        return True
    if item := ITEM.match(following.block.text):  # "2. " may also begin a heading that is not marked as one
        return is_text and not ITEM.match(unit.block.text) and not (item[0] != BULLET and is_end((".", "!", "?")))
    return following.block.kind == "text" and following.block.text[:1].islower() and not is_end((".", "!", "?"))


def find_subject(text: str, section: Sequence[LocatedUnit], first: int, last: int, max_half_words: int) -> str:
    """The line above a list of which section[first:last] is a further part; "" if it is none, or both do not fit into
    one passage.
    """
    block = section[first].block
    begins_with_item = first and ITEM.match(block.text) and section[first - 1].block is not block
    if not begins_with_item or block.kind != "text":
        return ""
    above = next((unit for unit in reversed(section[:first]) if not ITEM.match(unit.block.text)), None)
    if above is None or not above.unit.introduces or above.block.kind != "text":
        return ""
    size = above.unit.size + sum(unit.unit.size for unit in section[first:last])
    return normalize_spacing(text[above.unit.start : above.unit.end]) if size <= max_half_words else ""


def format_block(text: str, block: Block) -> str:
    """The text of a block, or of a part of it, as passages show it."""
    if block.kind == "text":
        return normalize_spacing(text)
    return "\n".join(line.rstrip() for line in text.split("\n")) if block.kind == "code" else join_lines(text)


def split_passage(passage: Passage, words: int, *, outline: bool = False) -> Iterator[Passage]:
    """The passage unchanged, or its parts if it has more than 3 x `words` words. outline: whether parts have a context,
    the first sentence of the whole.
    """
    max_half_words = 2 * MAX_UNSPLIT_FACTOR * words
    if len(passage["text"]) <= max_half_words or count_half_words(passage["text"]) <= max_half_words:
        yield passage
        return
    for part, text in enumerate(split_text(passage["text"], words), start=1):
        piece = Passage(id=f"{passage['id']}#{part}", title=passage["title"], text=text)
        if "places" in passage:
            piece["places"] = passage["places"]
        yield add_context(piece, find_context_of_part(passage["text"], text)) if outline else piece
