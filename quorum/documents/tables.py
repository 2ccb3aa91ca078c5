"""Reads tables of every type of file: which rows name the columns, and each row as text.

A type's reader hands over the cells as they stand, row by row. All that is decided about a table is decided here: the
text above it, its names, and how a row is written.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quorum.documents.document import Block, Unreadable, join_lines, remove_unstorable
from quorum.documents.table_names import Row, count_name_rows, is_number

MAX_SPANNED = 1_000_000  # how many places the spanning cells of a table may fill
MAX_ROWS_ABOVE = 10  # at most so many rows may precede the names
LONGEST_SHORT_LINE = 3  # words
LONGEST_GROUP_NAME = 3  # words: a longer text that stands alone above the names is a title


class Cell(NamedTuple):
    """A cell that may span several columns and rows."""

    text: str
    columns: int = 1
    rows: int = 1


# A row's cells from left to right, without places that a cell of another row or column spans.
Grid = Sequence[Sequence[str | Cell]]


class Table(NamedTuple):
    """A table as text: a title or comment above it, and its rows."""

    above: list[str]
    rows: list[str]


def make_table_blocks(
    grid: Grid, *, name_rows: int | None = None, names_are_usual: bool = False, page: int | None = None
) -> list[Block]:
    """The blocks of a table; for the arguments see `read_table`."""
    table = read_table(grid, name_rows=name_rows, names_are_usual=names_are_usual)
    blocks = [Block(remove_unstorable(text), page=page) for text in table.above]
    return blocks + [Block(remove_unstorable(row), "row", page=page) for row in table.rows]


def read_table(grid: Grid, *, name_rows: int | None = None, names_are_usual: bool = False) -> Table:
    """A table's text. Every cell stands once in the text of each row that it spans, after its column's name.

    name_rows: how many rows at the top the file marks as names; None if it marks nothing, so that they are found by
    their form. names_are_usual: whether tables in this type of file nearly always have names. Without names, the first
    value of a row in a table of two columns names the second; in any other table, the values follow one another.

    >>> read_table([["Dam", "Height", "Q1"], ["Vell", "87 m", "3"], ["Brack", "61 m", "3"]]).rows
    ['Dam: Vell; Height: 87 m; Q1: 3', 'Dam: Brack; Height: 61 m; Q1: 3']
    >>> read_table([["Height", "87 m"], ["Owner", "Orla AG"]]).rows
    ['Height: 87 m', 'Owner: Orla AG']
    >>> read_table([[Cell("Mill", rows=2), Cell("2022", columns=2)], ["Sales", "Costs"], ["Orl", "9", "9"]]).rows
    ['Mill: Orl; 2022 Sales: 9; 2022 Costs: 9']
    """
    kept = [
        (row, is_reached, name_rows is not None and number < name_rows)
        for number, (row, is_reached) in enumerate(lay_out(grid))
        if any(row)
    ]
    width = max(map(measure_width, (row for row, _, _ in kept)), default=0)
    rows = [row if len(row) <= width else row[:width] for row, _, _ in kept]
    begin = count_rows_above(rows, width)
    above, rows = [format_above(row) for row in rows[:begin]], rows[begin:]
    marked = None if name_rows is None else sum(is_marked for _, _, is_marked in kept[begin:])
    if begin and not marked:  # only the title was marked
        marked = None
    count = count_name_rows(rows, width, marked, names_are_usual=names_are_usual)
    while 0 < count < len(rows) and kept[begin + count][1]:  # a cell of the names reaches into the row below them
        count = count + 1 if marked else 0
    count = 0 if count >= len(rows) else count
    names, body = join_names(rows[:count], width), rows[count:]
    unused = list_unused(names, body, width)
    return Table([*above, *(["; ".join(unused)] if unused else [])], list(format_rows(names, body, width)))


def find_plain(cells: Sequence[str | Cell]) -> Sequence[str] | None:
    """The cells if none of them spans others; else None."""
    try:
        "".join(cells)  # type: ignore[arg-type]  # raises if a cell is not a string, quicker than looking at each
    except TypeError:
        return None
    return cells  # type: ignore[return-value]


def measure_width(row: Row) -> int:
    """The number of a row's last column with a text, from 1."""
    width = len(row)
    while width and not row[width - 1]:
        width -= 1
    return width


def split_lines(cells: Sequence[str | Cell]) -> list[Sequence[str | Cell]]:
    """The rows that stand in one: each of its cells has as many lines, which are numbers in one of them, or short ones,
    three or more, in all. Some programs draw no line between rows.
    """
    lines = [cell.strip().split("\n") if isinstance(cell, str) else [] for cell in cells]
    count = len(lines[0])
    is_split = (
        count > 1
        and len(lines) > 1
        and all(len(texts) == count and all(map(str.strip, texts)) for texts in lines)
        and (
            any(all(map(is_number, texts)) for texts in lines)
            or (count > 2 and all(all(map(is_short, texts)) for texts in lines))
        )
    )
    return [[texts[number] for texts in lines] for number in range(count)] if is_split else [cells]


def is_short(line: str) -> bool:
    """Whether a line of a cell is no part of a sentence."""
    return len(line.split()) <= LONGEST_SHORT_LINE and not line[:1].islower()


def lay_out(grid: Grid) -> Iterator[tuple[Row, bool]]:
    """For each row, (a value for every column, whether a cell from above reaches into it). None stands for a place into
    which the cell to its left extends; a cell that spans rows has its text in each of them. A row without any text of
    its own is empty.
    """
    open_spans: dict[int, tuple[Cell, int]] = {}  # column -> (the cell from above, for how many more rows)
    places_left = MAX_SPANNED
    for cells in grid:
        if not open_spans and (plain := find_plain(cells)) is not None:
            parts = split_lines(plain) if any("\n" in cell for cell in plain) else [plain]
            for part in parts:
                yield [join_lines(str(cell)) for cell in part], False
            continue
        row: Row = []
        waiting = [cell if isinstance(cell, Cell) else Cell(cell) for cell in reversed(cells)]
        has_own_text, is_reached = False, any(cell.text for cell, _ in open_spans.values())
        last_spanned = max(open_spans, default=-1)
        while waiting or len(row) <= last_spanned:
            column = len(row)
            if column in open_spans:
                cell, rows_left = open_spans.pop(column)
            else:
                cell = waiting.pop() if waiting else Cell("")
                cell, rows_left = cell._replace(text=join_lines(cell.text)), cell.rows
                has_own_text = has_own_text or bool(cell.text)
            columns = 1  # a cell ends where one from above begins
            while columns < cell.columns and column + columns not in open_spans:
                columns += 1
            if rows_left > 1:
                open_spans[column] = (cell._replace(columns=columns), rows_left - 1)
            row += [cell.text, *[None if cell.text else ""] * (columns - 1)]
            places_left -= columns
            if places_left < 0:
                raise Unreadable("a table has too many cells")
        yield (row if has_own_text else []), is_reached


def count_rows_above(rows: Sequence[Row], width: int) -> int:
    """How many rows at the top are a title or a comment. Such a row has one value, in its first place, or it is a
    remark as "Exported: 2 May" that leaves at least half of the columns empty. At least one row remains.
    """
    begin = 0
    for number, row in enumerate(rows[: MAX_ROWS_ABOVE + 1]):
        values = [value for value in row if value]
        if number == min(MAX_ROWS_ABOVE, len(rows) - 1) or width < 2:
            break
        is_remark = len(values) <= width // 2 and values[0].endswith(":")
        if not is_remark and not (len(values) == 1 and is_title(row, width)):
            break
        begin = number + 1
    return begin


def is_title(row: Row, width: int) -> bool:
    """Whether a row of one value is a title, and not the name of a group of columns."""
    place, text = next((place, value) for place, value in enumerate(row) if value)
    spans = next((end for end in range(place + 1, len(row)) if row[end] is not None), len(row)) - place
    return place == 0 or spans >= width or (spans == 1 and len(text.split()) > LONGEST_GROUP_NAME)


def format_above(row: Row) -> str:
    return " ".join(value for value in row if value)


def join_names(name_rows: Sequence[Row], width: int) -> list[str]:
    """The name of each column: what the rows of names say of it, from top to bottom, each text once."""
    names: list[str] = []
    filled_rows = [
        fill_groups(row, name_rows[-1], width) if row is not name_rows[-1] else fill_groups(row, [], width)
        for row in name_rows
    ]
    for column in range(width):
        texts = dict.fromkeys(row[column] for row in filled_rows if row[column])
        names.append(" ".join(texts).rstrip(":"))
    return names if name_rows else []


def fill_groups(row: Row, lower: Row, width: int) -> list[str]:
    """A row of names in which a group's name stands above each of its columns: those that its cell spans, and empty
    ones to its right that have a name in `lower`, the lowest row of names.
    """
    filled: list[str] = []
    for column in range(width):
        value = row[column] if column < len(row) else ""
        goes_on = value is None or (not value and column < len(lower) and bool(lower[column]))
        filled.append(filled[-1] if goes_on and filled else value or "")
    return filled


def list_unused(names: Sequence[str], rows: Sequence[Row], width: int) -> list[str]:
    """The names that no row shows, because their columns are empty."""
    return [
        name
        for place, name in enumerate(names)
        if name and not any(place < len(row) and row[place] != "" and not stands_alone(row, width) for row in rows)
    ]


def format_rows(names: Sequence[str], rows: Sequence[Row], width: int) -> Iterator[str]:
    """Each row as text."""
    is_pair = not names and width == 2
    for row in rows:
        if names and None not in row and not (row[0] or "").startswith("#"):
            pairs = zip(names, row, strict=False)
            yield "; ".join(f"{name}: {value}" if name else str(value) for name, value in pairs if value)
            continue
        values = [value for value in row if value]
        if is_pair and len(values) == 2:
            yield f"{values[0].rstrip(':')}: {values[1]}"
        elif not names or stands_alone(row, width):
            yield "; ".join(values)
        else:
            yield "; ".join(format_value(names, row, column, value) for column, value in enumerate(row) if value)


def stands_alone(row: Row, width: int) -> bool:
    """Whether a row's only value is about no column: it spans all of them, or is a comment."""
    if len(row) == width > 1 and all(value is None for value in row[1:]):
        return True
    return bool(row[0]) and str(row[0]).startswith("#") and not any(row[1:])


def format_value(names: Sequence[str], row: Row, column: int, value: str) -> str:
    """A value after the name of its column, or after the names of all columns that its cell spans."""
    name = names[column] if column < len(names) else ""
    if column + 1 < len(row) and row[column + 1] is None:
        end = next((end for end in range(column + 1, len(row)) if row[end] is not None), len(row))
        name = ", ".join(dict.fromkeys(filter(None, names[column:end])))
    return f"{name}: {value}" if name else value
