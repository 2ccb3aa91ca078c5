"""PDF, page by page: text by pdfium; headings by the size of the letters; tables with ruled lines by pdfplumber."""

import io
import logging
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from quorum.documents.document import Block, Document, Unreadable, join_lines, remove_unstorable
from quorum.documents.readers.word import convert_parser_errors
from quorum.documents.tables import format_rows

# Pdfium writes U+FFFE or U+0002 for some hyphens.
BROKEN_WORD = re.compile(r"(?<=[a-zà-ÿ])(?:[-\u00ad]\n|[\ufffe\u0002]\n?)(?=[a-zà-ÿ])")
SENTENCE_END = re.compile(r"[.!?:;…][\"'”’)\]]*\Z")
SENTENCE_REST = re.compile(r"\A[a-zà-ÿ][^.!?]{0,600}[.!?](?=\s|\Z)")
BULLET = re.compile(r"[•◦▪‣·∙]\s*")
HEADING_RATIO = 1.15  # a heading is at least this many times as large as the text
LONGEST_HEADING = 15  # words
RUNNING_TITLE_PAGES = 3  # a running title is at the edge of at least this many pages, and of a third of all pages
MIN_TABLE_LINES = 6  # a page with fewer drawn lines has no table
MAX_TABLE_LINES = 3000  # a page with more drawn lines is a drawing, not a table
MAX_TABLE_PAGES = 300
MAX_PAGES = 20_000


@dataclass
class Line:
    """A line of a page: its text, the height of its letters, and its position in points from the bottom of the page.

    is_row: whether it is a row of a table.
    """

    text: str
    size: float
    top: float
    bottom: float
    left: float
    is_row: bool = False


def read(data: bytes, name: str) -> Document:
    """The text of the pages. Raises `Unreadable` for files with a password and for scanned files without any text."""
    with convert_parser_errors("pdf"):
        pages, pictures, properties = read_pages(data)
    scanned_pages = [number for number, lines in enumerate(pages, start=1) if not lines and number in pictures]
    if not any(pages):
        if scanned_pages:
            raise Unreadable(
                f"scanned: {len(scanned_pages)} of {len(pages)} pages are pictures without text; run OCR first"
            )
        raise Unreadable("no text in it (scanned pages?)")
    notes = [f"scanned pages without text: {format_ranges(scanned_pages)}"] if scanned_pages else []
    blocks = list(make_blocks(remove_running_titles(pages)))
    title, first = remove_unstorable(properties.get("Title", "")), blocks[0]
    has_one_top_heading = sum(block.kind == "heading" and block.level == 1 for block in blocks) == 1 < len(blocks)
    is_top_heading = first.kind == "heading" and first.level == 1
    if is_top_heading and has_one_top_heading and title.lower() in ("", first.text.lower()):
        title, blocks = first.text, blocks[1:]
    metadata = {"author": remove_unstorable(properties.get("Author", ""))}
    return Document(title, blocks, {key: value for key, value in metadata.items() if value}, notes)


def read_pages(data: bytes) -> tuple[list[list[Line]], set[int], dict[str, str]]:
    """(the lines of every page, the numbers of the pages with pictures, the file's metadata)."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "assword" in str(error):
            raise Unreadable("locked by a password") from None
        raise
    try:
        if len(document) > MAX_PAGES:
            raise Unreadable(f"{len(document):,} pages; at most {MAX_PAGES:,} are read")
        table_finder = TableFinder(data)
        pages, pictures = [], set()
        for number in range(len(document)):
            page = document[number]
            lines, has_picture = read_page(page, table_finder, number)
            pages.append(lines)
            if has_picture:
                pictures.add(number + 1)
            page.close()
        return pages, pictures, {key: join_lines(value) for key, value in document.get_metadata_dict().items()}
    finally:
        document.close()


def read_page(page: Any, table_finder: "TableFinder", number: int) -> tuple[list[Line], bool]:
    """(the lines of a page, whether it has a picture). The rows of a ruled table replace the lines inside it."""
    import pypdfium2.raw as raw

    textpage = page.get_textpage()
    count = textpage.count_chars()
    lines = read_lines(textpage, count) if count > 0 else []
    kinds = Counter(item.type for item in page.get_objects(max_depth=2))
    if lines and MIN_TABLE_LINES <= kinds[raw.FPDF_PAGEOBJ_PATH] <= MAX_TABLE_LINES:
        lines = insert_tables(lines, table_finder.find_tables(number), page.get_height())
    textpage.close()
    return lines, bool(kinds[raw.FPDF_PAGEOBJ_IMAGE])


def read_lines(textpage: Any, count: int) -> list[Line]:
    """The lines of a page in the file's order."""
    text = textpage.get_text_range(errors="ignore")
    offsets_match = len(text) == count  # otherwise offsets do not match pdfium's characters, and sizes are unknown
    lines, place = [], 0
    for piece in text.splitlines(keepends=True):
        shown = piece.strip()
        if shown:
            begin = place + len(piece) - len(piece.lstrip())
            box = textpage.get_charbox(begin, loose=True) if offsets_match else (0, 0, 0, 0)
            left, bottom, _, top = box
            lines.append(Line(shown, round(top - bottom, 1), top, bottom, left))
        place += len(piece)
    return lines


class TableFinder:
    """Finds the ruled tables of a document's pages."""

    def __init__(self, data: bytes) -> None:
        self.data, self.remaining_pages = data, MAX_TABLE_PAGES
        self.document: Any = None

    def find_tables(self, number: int) -> list[tuple[tuple[float, float, float, float], list[str]]]:
        """(box from the page's top left, rows) of the tables on a page, by its number from 0."""
        if self.remaining_pages <= 0:
            return []
        self.remaining_pages -= 1
        logging.getLogger("pdfminer").setLevel(logging.CRITICAL)
        import pdfplumber

        tables = []
        with suppress(Exception):  # without its tables the page still has its text
            self.document = self.document or pdfplumber.open(io.BytesIO(self.data))
            page = self.document.pages[number]
            for table in page.find_tables():
                grid = [[cell or "" for cell in row] for row in table.extract()]
                if len(grid) > 1 and max(map(len, grid)) > 1:
                    tables.append((table.bbox, list(format_rows(grid))))
            page.close()
        return tables


def insert_tables(lines: list[Line], tables: list[Any], height: float) -> list[Line]:
    """The lines of a page, with the lines inside a table's box replaced by the table's rows."""
    for (left, top, right, bottom), rows in tables:
        inside = [
            place
            for place, line in enumerate(lines)
            if top <= height - (line.top + line.bottom) / 2 <= bottom and left - 5 <= line.left <= right
        ]
        if inside and rows:
            table_lines = [Line(row, 0, height - top, height - bottom, left, is_row=True) for row in rows]
            replaced_lines = set(inside)
            before = [line for place, line in enumerate(lines) if place < inside[0]]
            lines = (
                before
                + table_lines
                + [line for place, line in enumerate(lines) if place > inside[0] and place not in replaced_lines]
            )
    return lines


def remove_running_titles(pages: list[list[Line]]) -> list[list[Line]]:
    """The pages without running titles and page numbers, which are first or last lines that many pages share."""
    edges = Counter(
        edge for lines in pages for edge in {mask_digits(line.text) for line in (lines[:1] + lines[-1:])} if lines
    )
    min_pages = max(RUNNING_TITLE_PAGES, len(pages) // 3)

    def is_running_title(line: Line) -> bool:
        return not line.is_row and edges[mask_digits(line.text)] >= min_pages and len(line.text) < 100

    kept_lines = []
    for lines in pages:
        begin = 1 if lines and is_running_title(lines[0]) else 0
        end = len(lines) - 1 if len(lines) > begin and is_running_title(lines[-1]) else len(lines)
        kept_lines.append(lines[begin:end])
    return kept_lines if any(kept_lines) else pages


def mask_digits(text: str) -> str:
    return re.sub(r"\d+", "0", join_lines(text))


def make_blocks(pages: list[list[Line]]) -> Iterator[Block]:
    """Headings, paragraphs and rows. A sentence over a page break belongs to the page where it begins."""
    levels = find_heading_levels(pages)
    pending: Block | None = None
    for number, lines in enumerate(pages, start=1):
        for kind, text, level in split_paragraphs(lines, levels):
            if pending is not None and kind == "text" and pending.page != number:
                rest = SENTENCE_REST.match(text)
                if rest and not SENTENCE_END.search(pending.text):
                    joined_text = BROKEN_WORD.sub("", f"{pending.text}\n{rest[0]}")
                    pending, text = Block(joined_text, page=pending.page), text[rest.end() :].strip()
            if pending is not None:
                yield pending
                pending = None
            if kind == "text" and text:
                pending = Block(remove_unstorable(text), page=number)
            elif text:
                yield Block(remove_unstorable(text), "heading" if kind == "heading" else "row", level, number)
    if pending is not None:
        yield pending


def find_heading_levels(pages: list[list[Line]]) -> dict[float, int]:
    """Size of letters -> level of heading, for sizes larger than the text's."""
    sizes: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            sizes[line.size] += 0 if line.is_row else len(line.text)
    if not sizes:
        return {}
    text_size = sizes.most_common(1)[0][0]
    larger = sorted((size for size in sizes if text_size and size > HEADING_RATIO * text_size), reverse=True)
    return {size: min(level, 6) for level, size in enumerate(larger, start=1)}


def split_paragraphs(lines: list[Line], levels: dict[float, int]) -> Iterator[tuple[str, str, int]]:
    """(kind, text, level) of each part of a page. Lines that are close together make a paragraph."""
    gaps = [a.bottom - b.bottom for a, b in pairwise(lines) if 0 < a.bottom - b.bottom < 100]
    usual_gap = median(gaps) if gaps else 0.0
    run: list[Line] = []

    def find_kind(line: Line) -> tuple[str, int]:
        level = levels.get(line.size, 0)
        if line.is_row or not level or len(line.text.split()) > LONGEST_HEADING:
            return ("row" if line.is_row else "text"), 0
        return "heading", level

    def join_run() -> str:
        text = BROKEN_WORD.sub("", "\n".join(line.text for line in run))
        return BULLET.sub("- ", text) if BULLET.match(text) else text

    for line in lines:
        if run:
            last = run[-1]
            gap = last.bottom - line.bottom
            is_apart = usual_gap and (gap > 1.4 * usual_gap or gap < -usual_gap)
            if find_kind(last) != find_kind(line) or line.is_row or is_apart or BULLET.match(line.text):
                kind, level = find_kind(last)
                yield kind, join_lines(join_run()) if kind == "heading" else join_run(), level
                run = []
        run.append(line)
    if run:
        kind, level = find_kind(run[-1])
        yield kind, join_lines(join_run()) if kind == "heading" else join_run(), level


def format_ranges(numbers: list[int]) -> str:
    """Numbers in ascending order as text, such as '1-3, 7'."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1][-1] = number
        else:
            ranges.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)
