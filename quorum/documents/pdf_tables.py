"""Finds the ruled tables of a PDF by pdfplumber; the text of their cells is read by pdfium."""

import io
import logging
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from operator import itemgetter
from typing import Any

from quorum.documents.pdf_lines import Line, join_broken_words
from quorum.documents.tables import Cell, read_table

MAX_TABLE_PAGES = 300  # at most so many pages of a file are searched for tables
SMALLEST_LINE_GAP = 0.6  # times the height of the letters: a smaller step is a raised letter
Box = tuple[float, float, float, float]  # left, top, right, bottom, in points from the page's top left corner


class TableFinder:
    """Finds the ruled tables of a document's pages."""

    def __init__(self, data: bytes) -> None:
        self.data, self.remaining_pages = data, MAX_TABLE_PAGES
        self.document: Any = None

    def find_tables(self, index: int, textpage: Any) -> list[tuple[Box, list[str]]]:
        """(box, rows) of each table on a page; none after MAX_TABLE_PAGES pages. index: the page's number, from 0.
        textpage: pdfium's text of the page.
        """
        if self.remaining_pages <= 0:
            return []
        self.remaining_pages -= 1
        logging.getLogger("pdfminer").setLevel(logging.CRITICAL)
        import pdfplumber

        tables = []
        with suppress(Exception):  # without its tables the page still has its text
            self.document = self.document or pdfplumber.open(io.BytesIO(self.data))
            page = self.document.pages[index]
            for table in page.find_tables():
                if len(table.rows) > 1 and max(len(row.cells) for row in table.rows) > 1:
                    text = read_table(read_grid(table, textpage, page.height))
                    tables.append((table.bbox, [*text.above, *text.rows]))
            page.close()
        return tables


def read_grid(table: Any, textpage: Any, height: float) -> list[list[Cell | str]]:
    """The cells of a table, row by row. The text is pdfplumber's if pdfium has none there, as on a turned page."""
    boxes = [[box for box in row.cells if box is not None] for row in table.rows]
    letters = [letter for letter in table.page.chars if letter["text"].strip()]
    texts = []
    for row, row_boxes in zip(table.rows, boxes, strict=True):
        _, top, _, bottom = row.bbox
        row_letters = [letter for letter in letters if top <= find_middle(letter) <= bottom]
        texts.append([read_box(textpage, box, height, row_letters) for box in row_boxes])
    if not any(map(any, texts)):
        texts = [[cell or "" for cell in row if cell is not None] for row in table.extract()]
    lefts = sorted({box[0] for row in boxes for box in row})
    tops = sorted({box[1] for row in boxes for box in row})
    return [
        [make_cell(text, box, lefts, tops) for text, box in zip(row_texts, row, strict=True)]
        for row_texts, row in zip(texts, boxes, strict=True)
    ]


def make_cell(text: str, box: Box, lefts: Sequence[float], tops: Sequence[float]) -> Cell | str:
    """A cell, which spans every column and row that begins inside its box."""
    columns = sum(box[0] <= left < box[2] - 1 for left in lefts)
    rows = sum(box[1] <= top < box[3] - 1 for top in tops)
    return Cell(text, columns, rows) if columns > 1 or rows > 1 else text


def find_middle(letter: dict[str, Any]) -> float:
    """How far below the page's top the middle of a letter of pdfplumber is."""
    return float(letter["top"] + letter["bottom"]) / 2


def read_box(textpage: Any, box: Box, height: float, letters: Sequence[dict[str, Any]]) -> str:
    """The text of a cell, line by line. letters: pdfplumber's, of the cell's row; they say where the lines are."""
    left, top, right, bottom = box
    inside = sorted(
        ((find_middle(letter), letter["size"]) for letter in letters if left <= letter["x0"] < right), key=itemgetter(0)
    )
    ends = [(a + b) / 2 for (a, size), (b, _) in pairwise(inside) if b - a > SMALLEST_LINE_GAP * size]
    lines = []
    for begin, end in pairwise([top, *(end for end in ends if top < end < bottom), bottom]):
        text = textpage.get_text_bounded(left, height - end, right, height - begin, errors="ignore")
        lines.append(" ".join(text.replace("\ufffe", "-").replace("\u0002", "-").split()))
    return join_broken_words("\n".join(filter(None, lines)))


def insert_tables(lines: list[Line], tables: list[tuple[Box, list[str]]], height: float) -> list[Line]:
    """The lines of a page, with the lines inside a table's box replaced by the table's rows.

    tables: what `find_tables` returns for the page; height: the page's height in points.
    """
    for (left, top, right, bottom), rows in tables:
        indexes_inside = {
            index
            for index, line in enumerate(lines)
            if top <= height - (line.top + line.bottom) / 2 <= bottom and left - 5 <= line.left <= right
        }
        if indexes_inside and rows:
            table_lines = [Line(row, 0, height - top, height - bottom, left, is_row=True) for row in rows]
            first = min(indexes_inside)
            lines = (
                lines[:first]
                + table_lines
                + [line for index, line in enumerate(lines) if index > first and index not in indexes_inside]
            )
    return lines
