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
from quorum.documents.tables import read_table

# The hyphen and the line break inside a word that is broken over two lines. Pdfium writes U+FFFE or U+0002 for some
# hyphens.
BROKEN_WORD = re.compile(r"(?<=[a-zà-ÿ])(?:[-\u00ad]\n|[\ufffe\u0002]\n?)(?=[a-zà-ÿ])")
SENTENCE_END = re.compile(r"[.!?:;…][\"'”’)\]]*\Z")
# The beginning of a page's text, if it is the rest of a sentence that began on the page before.
SENTENCE_REST = re.compile(r"\A[a-zà-ÿ][^.!?]{0,600}[.!?](?=\s|\Z)")
BULLET = re.compile(r"[•◦▪‣·∙]\s*")
HEADING_RATIO = 1.15  # a heading is at least this many times as large as the text
LONGEST_HEADING = 15  # words
RUNNING_TITLE_PAGES = 3  # a running title is at the edge of at least this many pages, and of a third of all pages
MIN_TABLE_LINES = 6  # a page with fewer drawn lines has no table
MAX_TABLE_LINES = 3000  # a page with more drawn lines is a drawing, not a table
MAX_TABLE_PAGES = 300  # at most so many pages of a file are searched for tables
MAX_PAGES = 20_000
SMALLEST_SIZE = 1.0  # points: smaller letters are hidden text


@dataclass
class Line:
    """A line of a page.

    size: the height of its letters in points; 0 if it is unknown, and for a row of a table. top, bottom: points from
    the bottom of the page; left: points from the left edge. is_row: whether the line is a row of a table.
    """

    text: str
    size: float
    top: float
    bottom: float
    left: float
    is_row: bool = False


def read(data: bytes, name: str) -> Document:
    """The text of the pages. Raises `Unreadable` for a file with a password, without any text (scanned pages), or with
    more than MAX_PAGES pages.

    The title is the one in the file's metadata. If the first block is the only heading of level 1, and the metadata has
    no title or the same one, this heading becomes the title and is left out of the blocks.
    """
    with convert_parser_errors("pdf"):
        pages, picture_pages, properties = read_pages(data)
    scanned_pages = [number for number, lines in enumerate(pages, start=1) if not lines and number in picture_pages]
    if not any(pages):
        if scanned_pages:
            raise Unreadable(
                f"scanned: {len(scanned_pages)} of {len(pages)} pages are pictures without text; run OCR first"
            )
        raise Unreadable("no text in it (scanned pages?)")
    notes = [f"scanned pages without text: {format_ranges(scanned_pages)}"] if scanned_pages else []
    blocks = list(make_blocks(remove_running_titles(pages)))
    title, first_block = remove_unstorable(properties.get("Title", "")), blocks[0]
    has_one_top_heading = sum(block.kind == "heading" and block.level == 1 for block in blocks) == 1 < len(blocks)
    is_top_heading = first_block.kind == "heading" and first_block.level == 1
    if is_top_heading and has_one_top_heading and title.lower() in ("", first_block.text.lower()):
        title, blocks = first_block.text, blocks[1:]
    metadata = {"author": remove_unstorable(properties.get("Author", ""))}
    return Document(title, blocks, {key: value for key, value in metadata.items() if value}, notes)


def read_pages(data: bytes) -> tuple[list[list[Line]], set[int], dict[str, str]]:
    """(the lines of every page, the numbers from 1 of the pages with pictures, the file's metadata)."""
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
        pages, picture_pages = [], set()
        for index in range(len(document)):
            page = document[index]
            lines, has_picture = read_page(page, table_finder, index)
            pages.append(lines)
            if has_picture:
                picture_pages.add(index + 1)
            page.close()
        return pages, picture_pages, {key: join_lines(value) for key, value in document.get_metadata_dict().items()}
    finally:
        document.close()


def is_visible(line: Line, page_box: tuple[float, float, float, float]) -> bool:
    """Whether a line is on the page and has letters of a size that can be seen. page_box: left, bottom, right, top."""
    _, bottom, right, top = page_box
    is_on_page = line.top > bottom and line.bottom < top and line.left < right
    return is_on_page and not 0 < line.size < SMALLEST_SIZE


def read_page(page: Any, table_finder: "TableFinder", index: int) -> tuple[list[Line], bool]:
    """(the lines of a page, whether it has a picture). The rows of a ruled table replace the lines inside it.

    index: the page's number in the file, from 0.
    """
    import pypdfium2.raw as raw

    textpage = page.get_textpage()
    char_count = textpage.count_chars()
    all_lines = read_lines(textpage, char_count) if char_count > 0 else []
    lines = [line for line in all_lines if is_visible(line, page.get_mediabox())]
    object_counts = Counter(item.type for item in page.get_objects(max_depth=2))
    if lines and MIN_TABLE_LINES <= object_counts[raw.FPDF_PAGEOBJ_PATH] <= MAX_TABLE_LINES:
        lines = insert_tables(lines, table_finder.find_tables(index), page.get_height())
    textpage.close()
    return lines, bool(object_counts[raw.FPDF_PAGEOBJ_IMAGE])


def read_lines(textpage: Any, char_count: int) -> list[Line]:
    """The lines of a page in the file's order; empty lines are left out. char_count: pdfium's number of characters."""
    text = textpage.get_text_range(errors="ignore")
    # If the numbers differ, an offset in `text` is not one of pdfium's, and the positions and sizes are unknown.
    offsets_match = len(text) == char_count
    lines, offset = [], 0
    for piece in text.splitlines(keepends=True):
        line_text = piece.strip()
        if line_text:
            begin = offset + len(piece) - len(piece.lstrip())
            box = textpage.get_charbox(begin, loose=True) if offsets_match else (0, 0, 0, 0)
            left, bottom, _, top = box
            lines.append(Line(line_text, round(top - bottom, 1), top, bottom, left))
        offset += len(piece)
    return lines


class TableFinder:
    """Finds the ruled tables of a document's pages."""

    def __init__(self, data: bytes) -> None:
        self.data, self.remaining_pages = data, MAX_TABLE_PAGES
        self.document: Any = None

    def find_tables(self, index: int) -> list[tuple[tuple[float, float, float, float], list[str]]]:
        """(box, rows) of each table on a page; none after MAX_TABLE_PAGES pages. index: the page's number, from 0.

        The box is (left, top, right, bottom), in points from the page's top left corner.
        """
        if self.remaining_pages <= 0:
            return []
        self.remaining_pages -= 1
        logging.getLogger("pdfminer").setLevel(logging.CRITICAL)
        import pdfplumber

        tables = []
        with suppress(Exception):  # without its tables the page still has its text
            self.document = self.document or pdfplumber.open(io.BytesIO(self.data))
            page = self.document.pages[index]
            for table in page.find_tables():
                grid = [[cell or "" for cell in row] for row in table.extract()]
                if len(grid) > 1 and max(map(len, grid)) > 1:
                    text = read_table(grid)
                    tables.append((table.bbox, [*text.above, *text.rows]))
            page.close()
        return tables


def insert_tables(lines: list[Line], tables: list[Any], height: float) -> list[Line]:
    """The lines of a page, with the lines inside a table's box replaced by the table's rows.

    tables: what `find_tables` returns for the page; height: the page's height in points.
    """
    for (left, top, right, bottom), rows in tables:
        indexes_inside = {
            index
            for index, line in enumerate(lines)
            if top <= height - (line.top + line.bottom) / 2 <= bottom and left - 5 <= line.left <= right
        }
        if indexes_inside and rows:
            table_lines = [Line(row, 0, height - top, height - bottom, left, is_row=True) for row in rows]
            first = min(indexes_inside)
            lines = (
                lines[:first]
                + table_lines
                + [line for index, line in enumerate(lines) if index > first and index not in indexes_inside]
            )
    return lines


def remove_running_titles(pages: list[list[Line]]) -> list[list[Line]]:
    """The pages without running titles and page numbers.

    These are first or last lines that many pages share; a difference only in digits does not count.
    """
    edge_counts = Counter(
        edge for lines in pages for edge in {mask_digits(line.text) for line in (lines[:1] + lines[-1:])} if lines
    )
    min_pages = max(RUNNING_TITLE_PAGES, len(pages) // 3)

    def is_running_title(line: Line) -> bool:
        return not line.is_row and edge_counts[mask_digits(line.text)] >= min_pages and len(line.text) < 100

    kept_lines = []
    for lines in pages:
        begin = 1 if lines and is_running_title(lines[0]) else 0
        end = len(lines) - 1 if len(lines) > begin and is_running_title(lines[-1]) else len(lines)
        kept_lines.append(lines[begin:end])
    return kept_lines if any(kept_lines) else pages


def mask_digits(text: str) -> str:
    return re.sub(r"\d+", "0", join_lines(text))


def make_blocks(pages: list[list[Line]]) -> Iterator[Block]:
    """The headings, paragraphs and table rows. A sentence that continues on the next page belongs to the page where it
    begins.
    """
    levels = find_heading_levels(pages)
    pending: Block | None = None
    for number, lines in enumerate(pages, start=1):
        for kind, text, level in split_paragraphs(lines, levels):
            if pending is not None and kind == "text" and pending.page != number:
                sentence_rest = SENTENCE_REST.match(text)
                if sentence_rest and not SENTENCE_END.search(pending.text):
                    joined_text = BROKEN_WORD.sub("", f"{pending.text}\n{sentence_rest[0]}")
                    pending, text = Block(joined_text, page=pending.page), text[sentence_rest.end() :].strip()
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
    """{size of the letters: level of the heading}, for the sizes that are clearly larger than the most frequent one."""
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
    """(kind, text, level) of each heading, paragraph and table row of a page. Lines of the same kind that are close
    together make a paragraph or heading.

    levels: what `find_heading_levels` returns.
    """
    gaps = [a.bottom - b.bottom for a, b in pairwise(lines) if 0 < a.bottom - b.bottom < 100]
    usual_gap = median(gaps) if gaps else 0.0
    part_lines: list[Line] = []

    def find_kind(line: Line) -> tuple[str, int]:
        level = levels.get(line.size, 0)
        if line.is_row or not level or len(line.text.split()) > LONGEST_HEADING:
            return ("row" if line.is_row else "text"), 0
        return "heading", level

    def join_part() -> str:
        text = BROKEN_WORD.sub("", "\n".join(line.text for line in part_lines))
        return BULLET.sub("- ", text) if BULLET.match(text) else text

    for line in lines:
        if part_lines:
            line_before = part_lines[-1]
            gap = line_before.bottom - line.bottom
            is_apart = usual_gap and (gap > 1.4 * usual_gap or gap < -usual_gap)
            if find_kind(line_before) != find_kind(line) or line.is_row or is_apart or BULLET.match(line.text):
                kind, level = find_kind(line_before)
                yield kind, join_lines(join_part()) if kind == "heading" else join_part(), level
                part_lines = []
        part_lines.append(line)
    if part_lines:
        kind, level = find_kind(part_lines[-1])
        yield kind, join_lines(join_part()) if kind == "heading" else join_part(), level


def format_ranges(numbers: list[int]) -> str:
    """Numbers in ascending order as text, such as '1-3, 7'."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1][-1] = number
        else:
            ranges.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)
