"""Writes tables as rows of text in which every value follows its column's name."""

import re
from collections.abc import Iterator, Sequence

from quorum.documents.document import join_lines

DIGIT = re.compile(r"\d")
YEAR = re.compile(r"(?:18|19|20|21)\d\d")

Grid = Sequence[Sequence[str]]


def format_rows(grid: Grid, *, header_is_on_top: bool | None = None) -> Iterator[str]:
    """The rows of a table as text: "Dam: Vell; height: 87 m".

    header_is_on_top: whether the first row names the columns; if it is None, `looks_like_header` guesses. A table of
    one row never has a header. If the columns have no names, the first value of each row names the second in a table of
    two columns; in any other table, the values of a row follow one another. Empty values are left out. Repetitions
    (see `format_row`) are left out, too, but not in a table of two columns without names.

    >>> list(format_rows([["Dam", "Height", "Built"], ["Vell", "87 m", "1931"]]))
    ['Dam: Vell; Height: 87 m; Built: 1931']
    >>> list(format_rows([["Height", "87 m"], ["Owner", "Orla AG"]]))
    ['Height: 87 m', 'Owner: Orla AG']
    """
    rows = [[join_lines(value) for value in row] for row in grid]
    rows = [row for row in rows if any(row)]
    has_names = looks_like_header(rows) if header_is_on_top is None else header_is_on_top and len(rows) > 1
    if not has_names and max(map(len, rows), default=0) == 2:
        yield from (": ".join(value.rstrip(":") for value in row if value) for row in rows)
        return
    names = rows[0] if has_names else []
    for row in rows[1:] if has_names else rows:
        yield format_row(names, row)


def format_row(names: Sequence[str], row: Sequence[str]) -> str:
    """One row, each value after its column's name.

    A value is left out if it and its column's name equal the value before it and that value's name. This happens when a
    cell spans several columns, because the grid holds its text once for each of them.
    """
    parts: list[str] = []
    for column, value in enumerate(row):
        name = names[column].rstrip(":") if column < len(names) else ""
        part = f"{name}: {value}" if name else value
        if value and part not in parts[-1:]:
            parts.append(part)
    return "; ".join(parts)


def looks_like_header(rows: Grid) -> bool:
    """Whether the first row probably names the columns. A table of one row has no header.

    The values of the first row must differ, and each must be a year or have no digit. In a table of three or more
    columns, one value may be empty: that column has no name. In a table of two columns, a first row of this form may
    also be data, "Owner" and "Orla AG". It is therefore a header only if the second value of every later row has a
    digit.
    """
    if len(rows) < 2:
        return False
    names, width = [value for value in rows[0] if value], max(map(len, rows))
    if len(names) < max(2, width - 1) or len(set(names)) < len(names):
        return False
    if any(DIGIT.search(value) and not YEAR.fullmatch(value) for value in names):
        return False
    return width > 2 or all(len(row) == 2 and DIGIT.search(row[1]) for row in rows[1:])
