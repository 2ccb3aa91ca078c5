"""Workbooks (xlsx). A sheet becomes a section, and each row of it a block."""

import io
import posixpath
import re
from collections.abc import Iterable
from datetime import date, datetime, time
from typing import Any
from zipfile import ZipFile

from quorum.documents.document import Block, Document, Unreadable, join_lines, remove_unstorable
from quorum.documents.readers.word import convert_parser_errors, parse_part, read_core_properties
from quorum.documents.tables import Cell, make_table_blocks
from quorum.documents.zip_parts import open_archive

MAX_CELLS = 5_000_000
LONGEST_WHOLE_NUMBER = 1e21  # from here on, a number is written with an exponent
MAX_MERGED = 1_000_000  # places that all merged cells may cover; those beyond are read as single cells
BOOK_RELATIONS = "xl/_rels/workbook.xml.rels"
Spans = dict[tuple[int, int], tuple[int, int]]  # (row, column), from 1 -> (rows, columns) that the cell covers
MERGED = re.compile(rb"""<(?:\w+:)?mergeCell\s[^>]*?ref=["']([A-Z]{1,3}\d{1,7}:[A-Z]{1,3}\d{1,7})["']""")
OFFICE_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def read(data: bytes, name: str) -> Document:
    """The rows of every visible sheet, each value after its column's name. A formula gives its last computed value."""
    with open_archive(data, "xlsx") as archive:
        metadata = read_core_properties(archive)
        merged_cells = find_merged_cells(archive)
    blocks: list[Block] = []
    with convert_parser_errors("xlsx"):
        from openpyxl import load_workbook

        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        cells_left = MAX_CELLS
        for sheet in book.worksheets:
            if sheet.sheet_state != "visible":
                continue
            sheet.reset_dimensions()  # a wrong size in the file would hide rows, or claim millions of them
            spans = merged_cells.get(sheet.title, {})
            grid, cells_left = read_cells(sheet.iter_rows(), cells_left, spans)
            if sheet_blocks := make_table_blocks(grid, names_are_usual=True):
                blocks += [Block(remove_unstorable(join_lines(sheet.title)), "heading", 2), *sheet_blocks]
    return Document(metadata.pop("title", ""), blocks, metadata)


def find_merged_cells(archive: ZipFile) -> dict[str, Spans]:
    """Sheet -> its merged cells. openpyxl does not read them in the mode that needs little memory."""
    parts = set(archive.namelist())
    book = parse_part(archive.read("xl/workbook.xml")) if "xl/workbook.xml" in parts else None
    relations = parse_part(archive.read(BOOK_RELATIONS)) if BOOK_RELATIONS in parts else None
    if book is None or relations is None:
        return {}
    targets = {relation.get("Id"): relation.get("Target") or "" for relation in relations}
    merged_cells, places_left = {}, MAX_MERGED
    for sheet in book.iter("{*}sheet"):
        part = posixpath.normpath(posixpath.join("/xl", targets.get(sheet.get(OFFICE_RELATION), ""))).lstrip("/")
        data = archive.read(part) if part in parts else b""
        begin = data.find(b"mergeCells")
        ranges = MERGED.findall(data, begin) if begin >= 0 else []
        spans: Spans = {}
        for place, (rows, columns) in (parse_range(found.decode()) for found in ranges):
            places_left -= rows * columns
            if places_left > 0:
                spans[place] = rows, columns
        merged_cells[sheet.get("name", "")] = spans
    return merged_cells


def parse_range(text: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """((row, column), (rows, columns)) of a range.

    >>> parse_range("B1:C3")
    ((1, 2), (3, 2))
    """
    from openpyxl.utils.cell import range_boundaries

    left, top, right, bottom = (int(bound or 1) for bound in range_boundaries(text))
    return (top, left), (bottom - top + 1, right - left + 1)


def read_cells(rows: Iterable[Iterable[Any]], cells_left: int, spans: Spans) -> tuple[list[list[str | Cell]], int]:
    """(the rows as text, without empty cells at their ends; how many cells may still be read).

    cells_left: how many cells may be read before this call. spans: the sheet's merged cells.
    """
    grid: list[list[str | Cell]] = []
    last_spanned_row = max((row + height - 1 for (row, _), (height, _) in spans.items()), default=0)
    covered = {
        (row + down, column + right)
        for (row, column), (height, width) in spans.items()
        for down in range(height)
        for right in range(width)
        if down or right
    }
    for number, row in enumerate(rows, start=1):
        values = [format_cell(cell.value, getattr(cell, "number_format", "") or "") for cell in row]
        cells_left -= len(values) + 1  # 1 for the row itself, so that millions of empty rows reach the limit, too
        if cells_left < 0:
            raise Unreadable(f"more than {MAX_CELLS:,} cells")
        while values and not values[-1]:
            values.pop()
        if values or number <= last_spanned_row:
            grid.append(place_spans(number, values, spans, covered) if spans else list[str | Cell](values))
    return grid, cells_left


def place_spans(number: int, values: list[str], spans: Spans, covered: set[tuple[int, int]]) -> list[str | Cell]:
    """A row's cells, those that are merged with others as one. number: the row's, from 1."""
    cells: list[str | Cell] = []
    for column, value in enumerate(values, start=1):
        height, width = spans.get((number, column), (1, 1))
        if (number, column) not in covered:
            cells.append(Cell(value, width, height) if height * width > 1 else value)
    return cells


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
