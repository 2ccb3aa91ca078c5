"""Rich Text (rtf)."""

import re
from dataclasses import dataclass

from quorum.documents.document import Block, Document, Unreadable, join_lines, remove_unstorable
from quorum.documents.html_blocks import read_html
from quorum.documents.readers.word import convert_parser_errors
from quorum.documents.rtf_marks import (
    CELL_END,
    HEADING_ENDS,
    JOINS_ABOVE,
    JOINS_LEFT,
    MARKS,
    PARAGRAPH_END,
    ROW_END,
    TABLE_LINE,
    Marker,
)
from quorum.documents.tables import Cell, make_table_blocks

PARTS = re.compile(f"[{CELL_END}{ROW_END}{PARAGRAPH_END}{HEADING_ENDS}]")
UNREAD_MARKS = str.maketrans("", "", MARKS)
BULLET = re.compile(r"[ \t]*[·o§•▪–\uf0b7\uf0a7-]\t\s*")  # in the fonts Symbol, Courier New and Wingdings
INFO = re.compile(r"\{\\(title|author|revtim)\b ?((?:[^{}\\]|\\[^{}]|\{[^{}]*\})*)\}")
DATE = re.compile(r"\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
OLD_ENCODINGS = {"\\mac": "mac_roman", "\\pca": "cp850", "\\pc": "cp437"}
LONGEST_HEAD = 20_000  # characters at the beginning in which the file's properties stand, after its fonts


@dataclass
class OpenCell:
    """A cell of a table that is being read."""

    text: str
    columns: int = 1
    rows: int = 1


def read(data: bytes, name: str) -> Document:
    """Headings (by their style or outline level), paragraphs, lists and tables; notes and text boxes after the
    paragraph in which they stand. Pictures, headers, footers and hidden text are left out.
    """
    if not data[:100].lstrip(b"\xef\xbb\xbf \t\r\n\0").startswith(b"{\\rtf"):
        raise Unreadable("damaged, or not in the rtf format")
    with convert_parser_errors("rtf"):
        rtf = decode_rtf(data)
        marker = Marker(rtf)
        text = convert(marker.mark(), find_encoding(rtf))
        notes = ["cut off: the end of the file is missing"] if marker.is_cut_off else []
        if marker.is_html:
            page = read_html(text.translate(UNREAD_MARKS))
            return Document(page.title, page.blocks, page.metadata, notes)
        properties = read_properties(rtf)
        blocks = list(make_blocks(text))
    return Document(properties.pop("title", ""), blocks, properties, notes)


def decode_rtf(data: bytes) -> str:
    """The file as text, a character a byte; RTF itself is ASCII, and some programs write UTF-8 into it all the same."""
    if data.isascii():
        return data.decode("ascii")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def find_encoding(rtf: str) -> str:
    """The encoding of a file that names no code page."""
    return next((encoding for word, encoding in OLD_ENCODINGS.items() if word in rtf[:200]), "cp1252")


def convert(rtf: str, encoding: str) -> str:
    """The text of RTF, by striprtf."""
    from striprtf.striprtf import rtf_to_text

    text: str = rtf_to_text(rtf, encoding, errors="replace")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs of surrogates, as RTF writes them


def read_properties(rtf: str) -> dict[str, str]:
    """Title, author and date of the last change (YYYY-MM-DD)."""
    begin = rtf.find("{\\info")
    properties: dict[str, str] = {}
    for match in INFO.finditer(rtf, begin, begin + LONGEST_HEAD) if begin >= 0 else ():
        if match[1] == "revtim":
            if date := DATE.search(match[2]):
                properties["date"] = f"{int(date[1]):04}-{int(date[2]):02}-{int(date[3]):02}"
        else:
            head = rtf[: rtf.find("{", 1)] if rtf.find("{", 1) > 0 else "{\\rtf1"
            value = convert(f"{head}{{{Marker(match[2]).mark()}}}}}", find_encoding(rtf))
            properties[match[1]] = remove_unstorable(join_lines(value))
    return {key: value for key, value in properties.items() if value}


def make_blocks(text: str) -> list[Block]:
    """The blocks of a text with marks."""
    blocks: list[Block] = []
    grid: list[list[OpenCell | None]] = []
    row: list[OpenCell | None] = []
    begin = 0
    for end in [*PARTS.finditer(text), None]:
        part, mark = (text[begin : end.start()], end[0]) if end else (text[begin:], PARAGRAPH_END)
        begin = end.end() if end else begin
        if mark == CELL_END:
            add_cell(part, row, grid)
            continue
        if mark == ROW_END:
            grid.append(row)
            row = []
            continue
        if grid:
            blocks += make_table_blocks(close_cells(grid))
            grid = []
        level = HEADING_ENDS.find(mark) + 1
        blocks += [Block(piece, "heading" if level else "text", level) for piece in [clean(part)] if piece]
    if row:  # the file was cut off
        grid.append(row)
    return blocks + (make_table_blocks(close_cells(grid)) if grid else [])


def clean(text: str) -> str:
    """A paragraph, with the mark of a list item written as "- "."""
    text = text.translate(UNREAD_MARKS)
    return BULLET.sub("- ", text, count=1).strip() if BULLET.match(text) else text.strip()


def add_cell(text: str, row: list[OpenCell | None], grid: list[list[OpenCell | None]]) -> None:
    """Add a cell to its row; None stands for one that continues the cell to its left or above it."""
    cell = OpenCell("\n".join(clean(line) for line in text.split(TABLE_LINE)).strip())
    joined: OpenCell | None = None
    if JOINS_LEFT in text:
        joined = next((other for other in reversed(row) if other), None)
        if joined:
            joined.columns += 1
    elif JOINS_ABOVE in text:
        above = [other_row[len(row)] for other_row in grid if len(other_row) > len(row)]
        joined = next((other for other in reversed(above) if other), None)
        if joined:
            joined.rows += 1
    if joined and cell.text:
        joined.text = f"{joined.text}\n{cell.text}".strip()
    row.append(None if joined else cell)


def close_cells(grid: list[list[OpenCell | None]]) -> list[list[str | Cell]]:
    """The rows for `make_table_blocks`."""
    return [[Cell(cell.text, cell.columns, cell.rows) for cell in row if cell] for row in grid]
