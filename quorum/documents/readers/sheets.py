"""Workbooks (xlsx). A sheet becomes a section, and each row of it a block."""

import io
from collections.abc import Iterable
from datetime import date, datetime, time
from typing import Any

from quorum.documents.document import Block, Document, Unreadable, join_lines, remove_unstorable
from quorum.documents.readers.word import convert_parser_errors, read_core_properties
from quorum.documents.tables import format_rows, looks_like_header
from quorum.documents.zip_parts import open_archive

MAX_CELLS = 5_000_000
LONGEST_WHOLE_NUMBER = 1e21  # from here on, a number is written with an exponent
MAX_ROWS_ABOVE_NAMES = 10  # at most so many rows may precede the row with the names of the columns


def read(data: bytes, name: str) -> Document:
    """The rows of every visible sheet, each value after its column's name. A formula gives its last computed value."""
    with open_archive(data, "xlsx") as archive:
        metadata = read_core_properties(archive)
    blocks: list[Block] = []
    with convert_parser_errors("xlsx"):
        from openpyxl import load_workbook

        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        cells_left = MAX_CELLS
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible":
                continue
            sheet.reset_dimensions()  # a wrong size in the file would hide rows, or claim millions of them
            grid, cells_left = read_cells(sheet.iter_rows(), cells_left)
            sheet_blocks = make_blocks(grid)
            if sheet_blocks:
                blocks += [Block(remove_unstorable(join_lines(sheet.title)), "heading", 2), *sheet_blocks]
    return Document(metadata.pop("title", ""), blocks, metadata)


def read_cells(rows: Iterable[Iterable[Any]], cells_left: int) -> tuple[list[list[str]], int]:
    """(the rows with content, as text and without empty cells at their ends; how many cells may still be read).

    cells_left: how many cells may be read before this call.
    """
    grid: list[list[str]] = []
    for row in rows:
        values = [format_cell(cell.value, getattr(cell, "number_format", "") or "") for cell in row]
        cells_left -= len(values) + 1  # 1 for the row itself, so that millions of empty rows reach the limit, too
        if cells_left < 0:
            raise Unreadable(f"more than {MAX_CELLS:,} cells")
        while values and not values[-1]:
            values.pop()
        if values:
            grid.append(values)
    return grid, cells_left


def make_blocks(grid: list[list[str]]) -> list[Block]:
    """The rows as blocks. Rows of a single cell above the names of the columns become text."""
    begin = 0
    while begin < min(MAX_ROWS_ABOVE_NAMES, len(grid) - 1) and sum(map(bool, grid[begin])) == 1 < max(map(len, grid)):
        begin += 1
    blocks_above = [Block(remove_unstorable(" ".join(filter(None, row)))) for row in grid[:begin]]
    table = [[remove_unstorable(value) for value in row] for row in grid[begin:]]
    return blocks_above + [Block(row, "row") for row in format_rows(table, header_is_on_top=has_column_names(table))]


def has_column_names(table: list[list[str]]) -> bool:
    """Whether the first row names the columns: it has two or more values, which all differ and contain a letter, or it
    passes `looks_like_header`. A table of one row has no names.
    """
    if len(table) < 2:
        return False
    first_values = [value for value in table[0] if value]
    all_have_letters = all(any(character.isalpha() for character in value) for value in first_values)
    all_differ = len(set(first_values)) == len(first_values)
    return (all_have_letters and len(first_values) > 1 and all_differ) or looks_like_header(table)


def format_cell(value: Any, number_format: str) -> str:
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
        number = value * 100 if "%" in number_format else value
        is_whole = isinstance(number, int) or (abs(number) < LONGEST_WHOLE_NUMBER and number == int(number))
        return (str(int(number)) if is_whole else f"{number:.12g}") + ("%" if "%" in number_format else "")
    return join_lines(str(value))
