"""Tables as text: values separated by commas, semicolons, tabs or bars."""

import csv
import io

from quorum.core.encodings import decode_text
from quorum.documents.document import Block, Document, Unreadable
from quorum.documents.tables import format_rows, looks_like_header

DELIMITERS = ",;\t|"
SAMPLE_CHARACTERS, SAMPLE_ROWS = 20_000, 20  # characters and rows from which the delimiter is detected


def read(data: bytes, name: str) -> Document:
    """A block for every row, each value after its column's name if the first row holds names. name: the file's name."""
    text, note = decode_text(data)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=detect_delimiter(text, name))
    try:
        grid = list(rows)
    except csv.Error as error:
        raise Unreadable(f"line {rows.line_num} cannot be read ({error})") from None
    blocks = [Block(row, "row") for row in format_rows(grid, header_is_on_top=has_column_names(grid))]
    return Document("", blocks, notes=[note] if note else [])


def detect_delimiter(text: str, name: str) -> str:
    """The separator of values: a tab in a file whose name ends with .tsv or .tab.

    In other files, each delimiter is counted in each of the first rows. The best one occurs in every row, often, and
    about equally often in all of them; see `score_delimiter`.
    """
    if name.lower().endswith((".tsv", ".tab")):
        return "\t"

    def score_delimiter(delimiter: str) -> tuple[bool, int]:
        """Higher is better. A delimiter that every row has comes first. Then the score is 100 times its count in the
        row that has the fewest, less its count in the row that has the most.
        """
        rows = read_first_rows(text[:SAMPLE_CHARACTERS], delimiter)
        counts = [len(row) - 1 for row in rows[:-1] or rows]  # the last row may be cut
        return (min(counts, default=0) > 0, min(counts, default=0) * 100 - max(counts, default=0))

    return max(DELIMITERS, key=score_delimiter)


def read_first_rows(text: str, delimiter: str) -> list[list[str]]:
    """The first rows with content, up to one that cannot be read. Quoted values may contain line breaks."""
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if any(value.strip() for value in row):
                rows.append(row)
            if len(rows) == SAMPLE_ROWS:
                break
    except csv.Error:
        pass
    return rows


def has_column_names(grid: list[list[str]]) -> bool | None:
    """Whether the first row names the columns. None if there are fewer than two rows with content.

    The first row does so if all its values that are not empty have letters and differ from each other, or if
    `looks_like_header`, which also allows years, says so.
    """
    rows = [row for row in grid if any(value.strip() for value in row)]
    if len(rows) < 2:
        return None
    first = [value.strip() for value in rows[0]]
    words = [value for value in first if value]
    all_have_letters = all(any(letter.isalpha() for letter in value) for value in words)
    return (all_have_letters and len(set(words)) == len(words)) or looks_like_header(rows)
