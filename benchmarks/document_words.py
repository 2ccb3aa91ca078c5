"""Files whose words are known, of each type, for `python -m benchmarks.documents`: how many of them a reader finds."""

import io
import json
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Sequence
from email.message import EmailMessage
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # what the tests write
from opendocument_files import write_opendocument as write_opendocument
from outlook_files import write_msg as write_msg
from table_files import write_table as write_table

from quorum.documents.document import Unreadable
from quorum.documents.read import read_document

TABLES = (
    [["Mill", "Q1", "Q2", "CO2"], ["Orl", "40", "40", "3"], ["Tam", "12", "", "3"]],
    [["Mill", "2021", "2022", "2023"], ["Orl", "7", "7", "7"], ["Tam", "4", "4", "9"]],
    [["7", "7", "9"], ["4", "4", "4"], ["8", "2", "2"]],
    [["Mill", "Score", "Score"], ["Orl", "3", "3"], ["Tam", "5", "4"]],
    [["Flour in tonnes", "", ""], ["Mill", "wheels", "owner"], ["Orl", "3", "Ada"], ["Tam", "3", "Bo"]],
)
FORMULA = "<math><mi>Q</mi><mo>=</mo><msup><mi>h</mi><mn>17</mn></msup></math>"
OFFICE_FORMULA = (
    '<m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:sSup><m:e><m:r><m:t>Q</m:t></m:r>'
    "</m:e><m:sup><m:r><m:t>17</m:t></m:r></m:sup></m:sSup></m:oMath>"
)
FRENCH = "Le moulin est fermé à partir de lundi. La clé est à côté du pont, près de l'écluse."
POLISH = "Młyn jest zamknięty z powodu powodzi. Dziewczynka zgubiła czerwoną rękawiczkę."
WORD = re.compile(r"\w+")
PACKAGE = "http://schemas.openxmlformats.org"


def measure_words(folder: Path) -> dict[str, tuple[int, int]]:
    """Type of file -> (how many words of its files were found, how many there are). A word that stands n times in the
    cells of a table counts n times.
    """
    counts: dict[str, tuple[int, int]] = {}
    for path, words in write_files(folder):
        try:
            text = read_document(path).text
        except Unreadable:
            text = ""
        expected, found = Counter(words), Counter(WORD.findall(text))
        type_name = path.suffix[1:]
        right, total = counts.get(type_name, (0, 0))
        counts[type_name] = right + (expected & found).total(), total + expected.total()
    return counts


def write_files(folder: Path) -> list[tuple[Path, list[str]]]:
    """Write the files; returns each with its words."""
    folder.mkdir(parents=True, exist_ok=True)
    files: list[tuple[Path, list[str]]] = []
    for number, rows in enumerate(TABLES):
        words = WORD.findall(" ".join(value for row in rows for value in row))
        for name, data in make_table_files(rows).items():
            path = folder / f"table{number}.{name}"
            path.write_bytes(data)
            files.append((path, words))
    others: dict[str, tuple[bytes, str]] = {
        "french.txt": (FRENCH.encode("cp1252"), FRENCH),
        "polish.txt": (POLISH.encode("cp1250"), POLISH),
        "declared.xml": ('<?xml version="1.0" encoding="koi8-r"?><b>Мельница</b>'.encode("koi8-r"), "Мельница"),
        "formula.html": (f"<p>The flow is {FORMULA} here.</p>".encode(), "The flow is h 17 here"),
        "title.html": (b"<h1>The mill is closed</h1>", "The mill is closed"),
        "formula.docx": (make_word(f"<w:p><w:r><w:t>The flow is </w:t></w:r>{OFFICE_FORMULA}</w:p>"), "The flow is 17"),
        "note.rtf": (rb"{\rtf1\ansicpg1250 P\'f8\'edli\'9a{\footnote A note}}", "Příliš A note"),
        "codepage.msg": (write_msg({"1000001E": POLISH.encode("cp1250")}, pages={0x3FFD: 1250}), POLISH),
        "forwarded.eml": (make_forwarded_mail(), "See below The repair costs 480 crowns"),
        "printed.ipynb": (make_notebook(), "Report wheels 3"),
    }
    for name, (data, text) in others.items():
        (folder / name).write_bytes(data)
        files.append((folder / name, WORD.findall(text)))
    return files


def make_table_files(rows: Sequence[Sequence[str]]) -> dict[str, bytes]:
    """A table as a file of each type."""
    from openpyxl import Workbook
    from pptx import Presentation
    from pptx.util import Inches

    cells = "".join("<tr>" + "".join(f"<td>{value}</td>" for value in row) + "</tr>" for row in rows)
    html = f"<html><body><table>{cells}</table></body></html>"
    book, deck, data = Workbook(), Presentation(), io.BytesIO()
    for row in rows:
        book.active.append([int(value) if value.isdecimal() else value or None for value in row])
    book.save(data)
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    box = (Inches(1), Inches(1), Inches(8), Inches(3))
    table = slide.shapes.add_table(len(rows), len(rows[0]), *box).table
    for place, row in enumerate(rows):
        for column, value in enumerate(row):
            table.cell(place, column).text = value
    deck_data = io.BytesIO()
    deck.save(deck_data)
    word_rows = "".join(
        "<w:tr>" + "".join(f"<w:tc><w:p><w:r><w:t>{value}</w:t></w:r></w:p></w:tc>" for value in row) + "</w:tr>"
        for row in rows
    )
    return {
        "csv": "\n".join(",".join(row) for row in rows).encode(),
        "html": html.encode(),
        "eml": f"Subject: a\nContent-Type: text/html; charset=utf-8\n\n{html}".encode(),
        "epub": make_book(html),
        "xlsx": data.getvalue(),
        "pptx": deck_data.getvalue(),
        "docx": make_word(f"<w:tbl>{word_rows}</w:tbl>"),
        "pdf": make_pdf(rows),
        **{file_type: make_office_table(file_type, rows) for file_type in ("odt", "ods", "rtf", "msg")},
    }


def make_office_table(file_type: str, rows: Sequence[Sequence[str]]) -> bytes:
    with TemporaryDirectory() as folder:
        return write_table(Path(folder) / f"a.{file_type}", rows).read_bytes()


def make_archive(parts: dict[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        for name, text in parts.items():
            file.writestr(name, text)
    return data.getvalue()


def make_book(chapter: str) -> bytes:
    return make_archive(
        {
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfile full-path="b.opf"/></container>',
            "b.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml" media-type='
            '"application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
            "a.xhtml": chapter,
        }
    )


def make_word(body: str) -> bytes:
    return make_archive(
        {
            "word/document.xml": f'<w:document xmlns:w="{PACKAGE}/wordprocessingml/2006/main"><w:body>{body}</w:body>'
            "</w:document>",
            "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/package/2006/content-types"><Override PartName='
            '"/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.'
            'main+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/package/2006/relationships"><Relationship Id="r1" Type='
            f'"{PACKAGE}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
            "</Relationships>",
        }
    )


def make_forwarded_mail() -> bytes:
    inner, outer = EmailMessage(), EmailMessage()
    inner["Subject"], outer["Subject"] = "wheel", "Fwd: wheel"
    inner.set_content("The repair costs 480 crowns.")
    outer.set_content("See below.")
    outer.add_attachment(inner)
    return outer.as_bytes()


def make_notebook() -> bytes:
    printed = "\x1b[1;31mReport\x1b[0m wheels: \x1b[32m3\x1b[0m"
    cell = {"cell_type": "code", "source": "", "outputs": [{"output_type": "stream", "text": printed}]}
    return json.dumps({"cells": [cell], "nbformat": 4}).encode()


def make_pdf(rows: Sequence[Sequence[str]]) -> bytes:
    """A page with a table, with a line around each cell, a space drawn over each letter, and a word that is broken."""
    parts = ["BT /F1 10 Tf 72 760 Td (The table of the car-) Tj 0 -13 Td (penters follows.) Tj ET"]
    for place, row in enumerate(rows):
        for column, value in enumerate(row):
            left, bottom = 72 + 90 * column, 700 - 20 * place
            parts.append(f"{left} {bottom} 90 20 re S BT /F1 10 Tf {left + 4} {bottom + 6} Td ({value}) Tj ET")
            parts.append(f"BT /F1 10 Tf {left + 6} {bottom + 6} Td ( ) Tj ET")
    stream = "\n".join(parts)
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R "
        "/Resources << /Font << /F1 3 0 R >> >> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
    ]
    data, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{content}\nendobj\n"
    entries = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    end = f"xref\n0 6\n0000000000 65535 f \n{entries}trailer << /Size 6 /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF"
    return f"{data}{end}".encode()
