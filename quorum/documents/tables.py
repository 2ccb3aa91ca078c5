"""Tables as rows of text in which every value stands with its column's name."""

import re
from collections.abc import Iterator, Sequence

from quorum.documents.document import one_line

DIGIT = re.compile(r"\d")
YEAR = re.compile(r"(?:18|19|20|21)\d\d")

Grid = Sequence[Sequence[str]]


def rows_of(grid: Grid, *, has_head: bool | None = None) -> Iterator[str]:
    """The rows of a table as text: "Dam: Vell; height: 87 m".

    has_head: whether the first row names the columns; None: where it looks like it. In a table of two columns without
    names the first value names the second; in others the values stand in their order. Empty values are left out.

    >>> list(rows_of([["Dam", "Height", "Built"], ["Vell", "87 m", "1931"]]))
    ['Dam: Vell; Height: 87 m; Built: 1931']
    >>> list(rows_of([["Height", "87 m"], ["Owner", "Orla AG"]]))
    ['Height: 87 m', 'Owner: Orla AG']
    """
    rows = [[one_line(value) for value in row] for row in grid]
    rows = [row for row in rows if any(row)]
    head = looks_like_head(rows) if has_head is None else has_head and len(rows) > 1
    if not head and max(map(len, rows), default=0) == 2:
        yield from (": ".join(value.rstrip(":") for value in row if value) for row in rows)
        return
    names = rows[0] if head else []
    for row in rows[1:] if head else rows:
        yield row_text(names, row)


def row_text(names: Sequence[str], row: Sequence[str]) -> str:
    """One row, each value after its column's name; a value that spans columns of one name stands once."""
    parts: list[str] = []
    for place, value in enumerate(row):
        name = names[place].rstrip(":") if place < len(names) else ""
        part = f"{name}: {value}" if name else value
        if value and part not in parts[-1:]:
            parts.append(part)
    return "; ".join(parts)


def looks_like_head(rows: Grid) -> bool:
    """Whether the first row names the columns, where nothing else says so.

    It has a different word, or a year, for every column. In a table of two columns that may as well be a pair of
    name and value, so there the values below must be numbers.
    """
    if len(rows) < 2:
        return False
    first, width = [value for value in rows[0] if value], max(map(len, rows))
    if len(first) < max(2, width - 1) or len(set(first)) < len(first):
        return False
    if any(DIGIT.search(value) and not YEAR.fullmatch(value) for value in first):
        return False
    return width > 2 or all(len(row) == 2 and DIGIT.search(row[1]) for row in rows[1:])
