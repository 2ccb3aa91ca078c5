"""PDF, page by page: text by pdfium; headings by bookmarks and letters; tables with ruled lines by pdfplumber."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from typing import Any

from quorum.documents.document import BULLETS, Block, Document, Unreadable, clean_title, join_lines, remove_unstorable
from quorum.documents.pdf_forms import read_form_values
from quorum.documents.pdf_headings import Bookmarks, mark_headings, normalize
from quorum.documents.pdf_lines import Line, join_broken_words, read_lines
from quorum.documents.pdf_tables import TableFinder, insert_tables
from quorum.documents.readers.word import convert_parser_errors

SENTENCE_END = re.compile(r"[.!?:;…。！？][\"'”’)\]]*\Z")
# The beginning of a page's text, if it is the rest of a sentence that began on the page before.
SENTENCE_REST = re.compile(r"\A[a-zà-ÿ][^.!?]{0,600}[.!?](?=\s|\Z)")
BULLET = re.compile(rf"(?:{BULLETS}|·)\s*")
RUNNING_TITLE_PAGES = 3  # a running title is at the edge of at least this many pages, and of a third of all pages
MIN_TABLE_LINES = 6  # a page with fewer drawn lines has no table
MAX_TABLE_LINES = 3000  # a page with more drawn lines is a drawing, not a table
MAX_PAGES = 20_000
SMALLEST_SIZE = 1.0  # points: smaller letters are hidden text
LEAST_LETTERS = 10  # a page of a picture with fewer letters is a scanned one: they are its number or a stamp
MAX_BOOKMARKS = 10_000


def read(data: bytes, name: str) -> Document:
    """The text of the pages, and the values of its form. Raises `Unreadable` for a file with a password, without any
    text (scanned pages), or with more than MAX_PAGES pages.

    The title is the one in the file's metadata, unless a program gave it. If the first block is the only heading of
    level 1, and the metadata has no title or the same one, this heading becomes the title and is left out of the
    blocks.
    """
    with convert_parser_errors("pdf"):
        pages, picture_pages, properties, bookmarks = read_pages(data)
    scanned_pages = [
        number
        for number, lines in enumerate(pages, start=1)
        if number in picture_pages and sum(sum(map(str.isalpha, line.text)) for line in lines) < LEAST_LETTERS
    ]
    has_text = any(lines for number, lines in enumerate(pages, start=1) if number not in scanned_pages)
    if not has_text and scanned_pages:
        raise Unreadable(
            f"scanned: {len(scanned_pages)} of {len(pages)} pages are pictures without text; run OCR first"
        )
    if not has_text:
        raise Unreadable("no text in it (scanned pages?)")
    notes = [f"scanned pages without text: {format_ranges(scanned_pages)}"] if scanned_pages else []
    pages = remove_running_titles(pages)
    mark_headings(pages, bookmarks)
    blocks = list(make_blocks(pages))
    title, first_block = clean_title(properties.get("Title", "")), blocks[0]
    has_one_top_heading = sum(block.kind == "heading" and block.level == 1 for block in blocks) == 1 < len(blocks)
    is_top_heading = first_block.kind == "heading" and first_block.level == 1
    if is_top_heading and has_one_top_heading and title.lower() in ("", first_block.text.lower()):
        title, blocks = first_block.text, blocks[1:]
    metadata = {"author": remove_unstorable(properties.get("Author", ""))}
    return Document(title, blocks, {key: value for key, value in metadata.items() if value}, notes)


def read_pages(data: bytes) -> tuple[list[list[Line]], set[int], dict[str, str], Bookmarks]:
    """(the lines of every page, the numbers from 1 of the pages with pictures, the file's metadata, its bookmarks)."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "assword" in str(error):
            raise Unreadable("locked by a password") from None
        raise
    try:
        document.init_forms()
        if len(document) > MAX_PAGES:
            raise Unreadable(f"{len(document):,} pages; at most {MAX_PAGES:,} are read")
        table_finder = TableFinder(data)
        pages, picture_pages = [], set()
        for index in range(len(document)):
            page = document[index]
            lines, has_picture = read_page(page, table_finder, index)
            pages.append(lines + read_form_values(page, document.formenv))
            if has_picture:
                picture_pages.add(index + 1)
            page.close()
        properties = {key: join_lines(value) for key, value in document.get_metadata_dict().items()}
        return pages, picture_pages, properties, read_bookmarks(document)
    finally:
        document.close()


def read_bookmarks(document: Any) -> Bookmarks:
    """The bookmarks of a file by their normalized text, with their levels from 1."""
    bookmarks: dict[str, int] = {}
    for number, bookmark in enumerate(document.get_toc()):
        if number == MAX_BOOKMARKS:
            break
        if text := normalize(bookmark.get_title() or ""):
            bookmarks.setdefault(text, bookmark.level + 1)
    return bookmarks


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
        lines = insert_tables(lines, table_finder.find_tables(index, textpage), page.get_height())
    textpage.close()
    return lines, bool(object_counts[raw.FPDF_PAGEOBJ_IMAGE])


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
    pending: Block | None = None
    for number, lines in enumerate(pages, start=1):
        for kind, text, level in split_paragraphs(lines):
            if pending is not None and kind == "text" and pending.page != number:
                sentence_rest = SENTENCE_REST.match(text)
                if sentence_rest and not SENTENCE_END.search(pending.text):
                    joined_text = join_broken_words(f"{pending.text}\n{sentence_rest[0]}")
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


def split_paragraphs(lines: list[Line]) -> Iterator[tuple[str, str, int]]:
    """(kind, text, level) of each heading, paragraph, list item and table row of a page. Lines of the same kind that
    are close together make a paragraph or heading.
    """
    gaps = [a.bottom - b.bottom for a, b in pairwise(lines) if 0 < a.bottom - b.bottom < 100]
    usual_gap = median(gaps) if gaps else 0.0
    part_lines: list[Line] = []

    def make_part() -> tuple[str, str, int]:
        kind, level = find_kind(part_lines[-1])
        text = join_broken_words("\n".join(line.text for line in part_lines))
        text = BULLET.sub("- ", text, count=1) if BULLET.match(text) else text
        return kind, join_lines(text) if kind == "heading" else text, level

    for line in lines:
        if part_lines and begins_part(part_lines, line, usual_gap):
            yield make_part()
            part_lines = []
        part_lines.append(line)
    if part_lines:
        yield make_part()


def find_kind(line: Line) -> tuple[str, int]:
    return ("row", 0) if line.is_row else ("heading", line.level) if line.level else ("text", 0)


def begins_part(part_lines: list[Line], line: Line, usual_gap: float) -> bool:
    """Whether a line does not belong to the paragraph or heading of the lines before it.

    A line after a wider gap, or at the top of the next column, still goes on with a sentence that has not ended if it
    begins with a small letter.
    """
    first, before = part_lines[0], part_lines[-1]
    if find_kind(before) != find_kind(line) or line.is_row or BULLET.match(line.text):
        return True
    if BULLET.match(first.text) and first.left and line.left <= first.left and not BULLET.fullmatch(first.text):
        return True  # the text after a list
    gap = before.bottom - line.bottom
    is_apart = bool(usual_gap) and (gap > 1.4 * usual_gap or gap < -usual_gap)
    goes_on = line.text[:1].islower() and not SENTENCE_END.search(before.text)
    return is_apart and not goes_on


def format_ranges(numbers: list[int]) -> str:
    """Numbers in ascending order as text, such as '1-3, 7'."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1][-1] = number
        else:
            ranges.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)
