"""Workbooks (xlsx). A sheet is a section, a row a block."""

import io
from collections.abc import Iterable
from datetime import date, datetime, time
from typing import Any

from quorum.documents.document import Block, Document, Unreadable, clean, one_line
from quorum.documents.readers.word import core_properties, parsing
from quorum.documents.tables import looks_like_head, rows_of
from quorum.documents.zip_parts import opened

MOST_CELLS = 5_000_000
ABOVE = 10  # rows that may stand above the names of the columns


def read(data: bytes, name: str) -> Document:
    """The rows of every sheet, each value after its column's name. A formula gives its last computed value."""
    with opened(data, "xlsx") as archive:
        said = core_properties(archive)
    blocks: list[Block] = []
    with parsing("xlsx"):
        from openpyxl import load_workbook

        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        room = MOST_CELLS
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible":
                continue
            sheet.reset_dimensions()  # a wrong size would hide rows, or claim millions of them
            grid, room = cells(sheet.iter_rows(), room)
            found = sheet_blocks(grid)
            if found:
                blocks += [Block(clean(one_line(sheet.title)), "heading", 2), *found]
    return Document(said.pop("title", ""), blocks, said)


def cells(rows: Iterable[Iterable[Any]], room: int) -> tuple[list[list[str]], int]:
    """(the rows that hold something, as text; how many cells may still be read)."""
    grid: list[list[str]] = []
    for row in rows:
        line = [shown(cell.value, getattr(cell, "number_format", "") or "") for cell in row]
        room -= len(line) + 1
        if room < 0:
            raise Unreadable(f"more than {MOST_CELLS:,} cells")
        while line and not line[-1]:
            line.pop()
        if line:
            grid.append(line)
    return grid, room


def sheet_blocks(grid: list[list[str]]) -> list[Block]:
    """The rows as blocks. Single cells above the names of the columns are text."""
    begin = 0
    while begin < min(ABOVE, len(grid) - 1) and sum(map(bool, grid[begin])) == 1 < max(map(len, grid)):
        begin += 1
    above = [Block(clean(" ".join(filter(None, row)))) for row in grid[:begin]]
    table = [[clean(value) for value in row] for row in grid[begin:]]
    return above + [Block(row, "row") for row in rows_of(table, has_head=names_columns(table) or None)]


def names_columns(table: list[list[str]]) -> bool:
    if len(table) < 2:
        return False
    words = [value for value in table[0] if value]
    plain = all(any(letter.isalpha() for letter in value) for value in words)
    return (plain and len(words) > 1 and len(set(words)) == len(words)) or looks_like_head(table)


def shown(value: Any, form: str) -> str:
    """A cell's value as a person would write it: dates in ISO 8601, percentages, whole numbers without a point."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ", "minutes")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, int | float):
        number = value * 100 if "%" in form else value
        return f"{number:.12g}" + ("%" if "%" in form else "")
    return one_line(str(value))
