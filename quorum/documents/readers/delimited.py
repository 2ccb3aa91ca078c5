"""Tables as text: values separated by commas, semicolons, tabs or bars."""

import csv
import io

from quorum.documents.document import Block, Document, Unreadable
from quorum.documents.encodings import decode_text
from quorum.documents.tables import looks_like_head, rows_of

DELIMITERS = ",;\t|"
SEEN, SEEN_ROWS = 20_000, 20  # characters and rows that tell the delimiter


def read(data: bytes, name: str) -> Document:
    """A block for every row, each value after its column's name."""
    text, note = decode_text(data)
    found = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text, name))
    try:
        grid = list(found)
    except csv.Error as error:
        raise Unreadable(f"row {found.line_num} cannot be read ({error})") from None
    blocks = [Block(row, "row") for row in rows_of(grid, has_head=names_columns(grid))]
    return Document("", blocks, notes=[note] if note else [])


def delimiter_of(text: str, name: str) -> str:
    """What separates values: a tab in .tsv, else what cuts the first lines most evenly."""
    if name.lower().endswith((".tsv", ".tab")):
        return "\t"

    def evenness(delimiter: str) -> tuple[bool, int]:
        rows = first_rows(text[:SEEN], delimiter)
        counts = [len(row) - 1 for row in rows[:-1] or rows]  # the last row may be cut
        return (min(counts, default=0) > 0, min(counts, default=0) * 100 - max(counts, default=0))

    return max(DELIMITERS, key=evenness)


def first_rows(text: str, delimiter: str) -> list[list[str]]:
    """The first rows that hold anything, a line break inside quotes left in its row; what cannot be read ends them."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if any(value.strip() for value in row):
                rows.append(row)
            if len(rows) == SEEN_ROWS:
                break
    except csv.Error:
        pass
    return rows


def names_columns(grid: list[list[str]]) -> bool | None:
    """Whether the first row names the columns: it does unless it holds numbers or the same word twice."""
    rows = [row for row in grid if any(value.strip() for value in row)]
    if len(rows) < 2:
        return None
    first = [value.strip() for value in rows[0]]
    words = [value for value in first if value]
    plain = all(any(letter.isalpha() for letter in value) for value in words)
    return (plain and len(set(words)) == len(words)) or looks_like_head(rows)
