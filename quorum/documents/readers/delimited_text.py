"""Tables as text: values separated by commas, semicolons, tabs or bars."""

import csv
import io
import re
from typing import Any

from quorum.core.encodings import decode_text
from quorum.documents.document import Document, Unreadable
from quorum.documents.table_names import weigh_evidence
from quorum.documents.tables import make_table_blocks

DELIMITERS = ",;\t|"
SAMPLE_CHARACTERS, SAMPLE_ROWS = 20_000, 20  # characters and rows from which the delimiter is detected
SEPARATOR_LINE = re.compile(r"sep=(.)\n", re.IGNORECASE)  # as Excel writes it at the beginning
COMMENT = "#"


def read(data: bytes, name: str) -> Document:
    """A block for every row, each value after its column's name if the first row holds names. name: the file's name.

    Lines at the beginning that start with "#" are a comment; but a line of names may start so, too.
    """
    text, note = decode_text(data)
    separator = SEPARATOR_LINE.match(text)
    comments, table = split_comments(text[separator.end() :] if separator else text)
    delimiter = separator[1] if separator else detect_delimiter(table, name)
    rows = parse_rows(table, delimiter)
    try:
        grid = list(rows)
    except csv.Error as error:
        line_number = bool(separator) + len(comments) + rows.line_num
        raise Unreadable(f"line {line_number} cannot be read ({error})") from None
    if comments and grid and not weigh_evidence(grid[0], grid[1:]).names:
        names = next(parse_rows(comments[-1].lstrip(f"{COMMENT} "), delimiter))
        if len(names) == max(map(len, grid)) > 1:
            comments, grid = comments[:-1], [names, *grid]
    blocks = make_table_blocks([*[[line] for line in comments], *grid], names_are_usual=True)
    return Document("", blocks, notes=[note] if note else [])


def split_comments(text: str) -> tuple[list[str], str]:
    """(the lines at the beginning that are a comment, the text after them)."""
    comments = []
    while text.startswith(COMMENT):
        line, _, rest = text.partition("\n")
        if not rest.strip():
            break
        comments.append(line)
        text = rest
    return comments, text


def parse_rows(text: str, delimiter: str) -> Any:
    """A reader of `csv`: the values of each row. Spaces before a value, or before its quotation mark, are left out."""
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)


def detect_delimiter(text: str, name: str) -> str:
    """The separator of values: a tab in a file whose name ends with .tsv or .tab.

    In other files, each delimiter is counted in each of the first rows. The best one occurs in every row, often, and
    about equally often in all of them; see `score_delimiter`. A title above the rows does not count.
    """
    if name.lower().endswith((".tsv", ".tab")):
        return "\t"

    def score_delimiter(delimiter: str) -> tuple[bool, bool, int]:
        """Higher is better. A delimiter that every row has comes first, then one that every row has from some row on,
        if these are at least half of the rows. Then the score is 100 times its count in the row that has the fewest,
        less its count in the row that has the most.
        """
        rows = read_first_rows(text[:SAMPLE_CHARACTERS], delimiter)
        is_cut = len(text) > SAMPLE_CHARACTERS and len(rows) > 1
        counts = [len(row) - 1 for row in (rows[:-1] if is_cut else rows)]
        is_in_all = min(counts, default=0) > 0
        begin = next((place for place, count in enumerate(counts) if count), 0)
        counts = counts[begin:] if begin <= len(counts) - begin else counts
        return (is_in_all, min(counts, default=0) > 0, min(counts, default=0) * 100 - max(counts, default=0))

    return max(DELIMITERS, key=score_delimiter)


def read_first_rows(text: str, delimiter: str) -> list[list[str]]:
    """The first rows with content, up to one that cannot be read. Quoted values may contain line breaks."""
    rows: list[list[str]] = []
    try:
        for row in parse_rows(text, delimiter):
            if any(value.strip() for value in row):
                rows.append(row)
            if len(rows) == SAMPLE_ROWS:
                break
    except csv.Error:
        pass
    return rows
