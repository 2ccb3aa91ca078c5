"""Writes a table into a file of each type that can hold one."""

import csv
import io
import zipfile
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from opendocument_files import write_opendocument
from outlook_files import write_msg

from quorum.documents.tables import Cell

Grid = Sequence[Sequence[str | Cell]]
TABLE_TYPES = ("csv", "xlsx", "html", "docx", "pptx", "eml", "epub", "md", "odt", "ods", "rtf", "msg")


def write_table(path: Path, grid: Grid) -> Path:
    """Write a file with only this table. csv and md cannot have cells that span others: these become empty ones."""
    WRITERS[path.suffix[1:]](path, grid)
    return path


def list_places(grid: Grid) -> list[list[tuple[int, Cell]]]:
    """Each row's cells with their columns."""
    covered: set[tuple[int, int]] = set()
    places: list[list[tuple[int, Cell]]] = []
    for row, cells in enumerate(grid):
        column, line = 0, []
        for cell in (cell if isinstance(cell, Cell) else Cell(cell) for cell in cells):
            while (row, column) in covered:
                column += 1
            line.append((column, cell))
            covered |= {(row + down, column + right) for down in range(cell.rows) for right in range(cell.columns)}
        places.append(line)
    return places


def fill_rows(grid: Grid) -> list[list[str]]:
    places = list_places(grid)
    width = max((column + cell.columns for line in places for column, cell in line), default=0)
    texts = [{column: cell.text for column, cell in line} for line in places]
    return [[row.get(column, "") for column in range(width)] for row in texts]


def make_html(grid: Grid) -> str:
    rows = "".join(
        "<tr>" + "".join(f"<td colspan={c.columns} rowspan={c.rows}>{escape(c.text)}</td>" for _, c in line) + "</tr>"
        for line in list_places(grid)
    )
    return f"<html><body><table>{rows}</table></body></html>"


def write_csv(path: Path, grid: Grid) -> None:
    text = io.StringIO()
    csv.writer(text).writerows(fill_rows(grid))
    path.write_text(text.getvalue(), "utf-8")


def write_markdown(path: Path, grid: Grid) -> None:
    lines = [f"| {' | '.join(row)} |" for row in fill_rows(grid)]
    path.write_text("\n".join([lines[0], "|" + "---|" * (lines[0].count("|") - 1), *lines[1:]]), "utf-8")


def write_mail(path: Path, grid: Grid) -> None:
    path.write_text(f"Subject: Table\nContent-Type: text/html; charset=utf-8\n\n{make_html(grid)}", "utf-8")


def write_epub(path: Path, grid: Grid) -> None:
    write_book(path, make_html(grid).encode())


def write_book(path: Path, chapter: bytes) -> None:
    """Write an EPUB with one chapter."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfile full-path="b.opf"/>'
            "</container>",
        )
        file.writestr(
            "b.opf",
            '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml" media-type='
            '"application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
        )
        file.writestr("a.xhtml", chapter)


def write_sheet(path: Path, grid: Grid) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for number, line in enumerate(list_places(grid), start=1):
        for column, cell in line:
            text: str | int = int(cell.text) if cell.text.isdecimal() else cell.text
            sheet.cell(number, column + 1).value = text or None
            if cell.columns * cell.rows > 1:
                last = {"end_row": number + cell.rows - 1, "end_column": column + cell.columns}
                sheet.merge_cells(start_row=number, start_column=column + 1, **last)
    book.save(path)


def write_slide(path: Path, grid: Grid) -> None:
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    rows = fill_rows(grid)
    box = (Inches(1), Inches(1), Inches(8), Inches(3))
    table = slide.shapes.add_table(len(rows), len(rows[0]), *box).table
    for number, line in enumerate(list_places(grid)):
        for column, cell in line:
            table.cell(number, column).text = cell.text
            if cell.columns * cell.rows > 1:
                table.cell(number, column).merge(table.cell(number + cell.rows - 1, column + cell.columns - 1))
    deck.save(str(path))


def write_word(path: Path, grid: Grid) -> None:
    places = list_places(grid)
    owners = {
        (row + down, column): (cell, down)
        for row, line in enumerate(places)
        for column, cell in line
        for down in range(cell.rows)
    }
    body = ""
    for row in range(len(grid)):
        cells = sorted((column, *owners[number, column]) for number, column in owners if number == row)
        body += "<w:tr>" + "".join(make_word_cell(cell, down) for _, cell, down in cells) + "</w:tr>"
    write_word_body(path, f"<w:tbl>{body}</w:tbl>")


def make_word_cell(cell: Cell, down: int) -> str:
    merge = "" if cell.rows == 1 else "<w:vMerge/>" if down else '<w:vMerge w:val="restart"/>'
    text = "" if down else escape(cell.text)
    span = f'<w:gridSpan w:val="{cell.columns}"/>'
    return f"<w:tc><w:tcPr>{span}{merge}</w:tcPr><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>"


def write_word_body(path: Path, body: str) -> None:
    """Write a Word document with this content of its element `w:body`."""
    package = "http://schemas.openxmlformats.org"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(
            "word/document.xml",
            f'<w:document xmlns:w="{package}/wordprocessingml/2006/main" xmlns:m="{package}/officeDocument/2006/math" '
            'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml">'
            f"<w:body>{body}</w:body></w:document>",
        )
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/package/2006/content-types"><Override PartName="/word/document.xml" ContentType='
            '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        )
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/package/2006/relationships"><Relationship Id="r1" Type="{package}/office'
            'Document/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
        )


def write_odf(path: Path, grid: Grid) -> None:
    rows = []
    for line in list_places(grid):
        covered = sum(cell.columns - 1 for _, cell in line)
        cells = "".join(
            f'<table:table-cell office:value-type="string" table:number-columns-spanned="{cell.columns}" '
            f'table:number-rows-spanned="{cell.rows}"><text:p>{escape(cell.text)}</text:p></table:table-cell>'
            for _, cell in line
        )
        rows.append(f"<table:table-row>{cells}{'<table:covered-table-cell/>' * covered}</table:table-row>")
    write_opendocument(path, f'<table:table table:name="">{"".join(rows)}</table:table>')


def write_rich_text(path: Path, grid: Grid) -> None:
    """As Word does it: a cell that others join is followed by empty ones."""
    places = list_places(grid)
    width = max((column + cell.columns for line in places for column, cell in line), default=0)
    joins = {
        (number + down, column + right): ("\\clvmrg" if down else "\\clmrg", "")
        for number, line in enumerate(places)
        for column, cell in line
        for down in range(cell.rows)
        for right in range(cell.columns)
        if down or right
    }
    body = ""
    for number, line in enumerate(places):
        own = {column: ("\\clvmgf\\clmgf" if cell.rows * cell.columns > 1 else "", cell.text) for column, cell in line}
        cells = [own.get(column) or joins.get((number, column), ("", "")) for column in range(width)]
        body += "\\trowd" + "".join(f"{join}\\cellx{place}" for place, (join, _) in enumerate(cells, start=1))
        body += "\\pard\\intbl " + "".join(f"{text}\\cell " for _, text in cells) + "\\row\n"
    path.write_text(f"{{\\rtf1\\ansi{{\\fonttbl{{\\f0 Arial;}}}}{body}\\pard\\par}}", "ascii")


WRITERS: dict[str, Callable[[Path, Grid], None]] = {
    "csv": write_csv,
    "xlsx": write_sheet,
    "html": lambda path, grid: path.write_text(make_html(grid), "utf-8") and None,
    "docx": write_word,
    "pptx": write_slide,
    "eml": write_mail,
    "epub": write_epub,
    "md": write_markdown,
    "odt": write_odf,
    "ods": write_odf,
    "rtf": write_rich_text,
    "msg": lambda path, grid: path.write_bytes(write_msg({"10130102": make_html(grid).encode()})) and None,
}
