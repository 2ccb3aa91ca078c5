"""OpenDocument, as LibreOffice writes it: texts (odt), workbooks (ods), presentations (odp)."""

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from zipfile import ZipFile

from quorum.documents.document import Block, Document, Unreadable, clean_title, join_lines, remove_unstorable
from quorum.documents.html_blocks import read_html
from quorum.documents.odf_html import Converter, count_headings, get_tag, list_hidden_styles, odf, read_count
from quorum.documents.readers.sheets import MAX_CELLS, format_cell
from quorum.documents.readers.web_page import split_title
from quorum.documents.readers.word import convert_parser_errors, parse_part, read_part
from quorum.documents.tables import Cell, make_table_blocks
from quorum.documents.zip_parts import open_archive

TITLE_STYLE = "Title"
BLANKS = ("text:s", "text:tab", "text:line-break")
ENCRYPTED = b"encryption-data"
WHOLE_DAY = "T00:00:00"


def read(data: bytes, name: str) -> Document:
    """Of a text: headings with their numbers, paragraphs, lists, tables, notes, text boxes, formulas and the data of
    charts. Of a workbook: the rows of every visible sheet. Of a presentation: of every slide, which counts as a page,
    the texts and the speaker's notes. Comments, deleted and hidden text are left out.

    The title is a heading of level 1 or a title that begins a text, else that among the file's properties.
    """
    with open_archive(data, "OpenDocument") as archive, convert_parser_errors("OpenDocument"):
        manifest = archive.read("META-INF/manifest.xml") if "META-INF/manifest.xml" in archive.namelist() else b""
        if ENCRYPTED in manifest:
            raise Unreadable("locked by a password")
        content, styles = read_part(archive, "content.xml"), read_part(archive, "styles.xml")
        if content is None or (body := find_body(content)) is None:
            raise Unreadable("damaged, or not in the OpenDocument format")
        metadata = read_properties(read_part(archive, "meta.xml"))
        roots = [root for root in (styles, content) if root is not None]
        if get_tag(body) == "office:spreadsheet":
            blocks = list(read_sheets(body, list_hidden_tables(content)))
            return Document(metadata.pop("title", ""), blocks, metadata)
        converter = Converter(list_hidden_styles(roots), count_headings(styles), make_object_reader(archive))
        mark_titles(body, roots)
        if get_tag(body) == "office:presentation":
            blocks = [
                block
                for number, slide in enumerate(body.iter(SLIDE), 1)
                for block in read_slide(slide, number, converter)
            ]
            first = blocks[0].text if blocks and blocks[0].kind == "heading" and blocks[0].page == 1 else ""
            return Document(clean_title(metadata.pop("title", "")) or first, blocks, metadata)
        title, blocks = split_title(read_html(f"<body>{converter.convert_children(body)}</body>"))
    return Document(title or metadata.get("title", ""), blocks, {k: v for k, v in metadata.items() if k != "title"})


SLIDE, NOTES = odf("draw:page"), odf("presentation:notes")


def find_body(content: Any) -> Any:
    """The element with the document's text, None if there is none."""
    return next((child for outer in content.iter(odf("office:body")) for child in outer if get_tag(child)), None)


def read_properties(meta: Any) -> dict[str, str]:
    """Title, author and date of the last change (YYYY-MM-DD); those that the file lacks are left out."""
    if meta is None:
        return {}
    tags = {"title": "dc:title", "author": "dc:creator", "date": "dc:date"}
    texts = {key: next((element.text or "" for element in meta.iter(odf(tag))), "") for key, tag in tags.items()}
    texts["author"] = texts["author"] or next((e.text or "" for e in meta.iter(odf("meta:initial-creator"))), "")
    properties = {key: remove_unstorable(join_lines(text)) for key, text in texts.items()}
    return {key: value[:10] if key == "date" else value for key, value in properties.items() if value}


def make_object_reader(archive: ZipFile) -> Callable[[str], Any]:
    """Finds the root of an embedded object, which has a folder of its own in the archive."""
    parts = set(archive.namelist())

    def read_object(address: str) -> Any:
        part = posixpath.normpath(posixpath.join(address, "content.xml"))
        return parse_part(archive.read(part)) if part in parts else None

    return read_object


def mark_titles(body: Any, roots: list[Any]) -> None:
    """Make headings of level 1 of the paragraphs in the style for titles."""
    styles = {style.get(odf("style:name")): style for root in roots for style in root.iter(odf("style:style"))}
    for paragraph in body.iter(odf("text:p")):
        style = paragraph.get(odf("text:style-name"), "")
        parent = styles[style].get(odf("style:parent-style-name")) if style in styles else None
        if TITLE_STYLE in (style, parent):
            paragraph.tag = odf("text:h")
            paragraph.set(odf("text:is-list-header"), "true")


def read_slide(slide: Any, number: int, converter: Converter) -> Iterator[Block]:
    """The blocks of a slide: the title as a heading, then the other texts from top to bottom, then the notes."""
    frames = sorted((child for child in slide if get_tag(child) not in ("", "presentation:notes")), key=place_frame)
    title = next((frame for frame in frames if frame.get(odf("presentation:class")) == "title"), None)
    if title is not None:
        paragraphs = list(title.iter(odf("text:p")))
        text = remove_unstorable(join_lines(" ".join(map(read_paragraph, paragraphs))))
        if text:
            yield Block(text, "heading", 2, number)
    parts = [part for frame in frames if frame is not title for part in convert_part(frame, converter)]
    for notes in slide.iter(NOTES):
        parts += [part for frame in notes for part in convert_part(frame, converter)]
    for block in read_html(f"<body>{''.join(parts)}</body>").blocks:
        yield replace(block, page=number)


def convert_part(frame: Any, converter: Converter) -> list[str]:
    """The HTML of a shape of a slide, with the description of a picture."""
    own = converter.convert(frame)
    parts, converter.notes = [own, *converter.notes], []
    described = [child for child in frame.iter(odf("svg:desc")) if join_lines(child.text or "")]
    return parts + [f"<p>{converter.convert_children(child)}</p>" for child in described]


def place_frame(frame: Any) -> float:
    """How far from the top of the slide a shape stands, in its own unit."""
    text = frame.get(odf("svg:y"), "0").rstrip("abcdefghijklmnopqrstuvwxyz%")
    try:
        return float(text)
    except ValueError:
        return 0.0


def list_hidden_tables(content: Any) -> set[str]:
    """The names of the styles of sheets that are not shown."""
    properties = odf("style:table-properties")
    return {
        style.get(odf("style:name"), "")
        for style in content.iter(odf("style:style"))
        for own in style.iter(properties)
        if own.get(odf("table:display")) == "false"
    }


def read_sheets(body: Any, hidden_styles: set[str]) -> Iterator[Block]:
    """The sheets of a workbook: its name as a heading, then the rows, each value after its column's name."""
    cells_left = MAX_CELLS
    for table in body.findall(odf("table:table")):
        if table.get(odf("table:style-name")) in hidden_styles:
            continue
        grid: list[list[str | Cell]] = []
        for row in table.iter(odf("table:table-row")):
            times = read_count(row, "table:number-rows-repeated")
            cells = read_row(row)
            cells_left -= (len(cells) + 1) * (times if cells else 1)
            if cells_left < 0:
                raise Unreadable(f"more than {MAX_CELLS:,} cells")
            grid += [cells] * (times if cells else 1)
        if blocks := make_table_blocks(grid, names_are_usual=True):
            title = remove_unstorable(join_lines(table.get(odf("table:name"), "")))
            yield from [Block(title, "heading", 2)] if title else []
            yield from blocks


def read_row(row: Any) -> list[str | Cell]:
    """A row's cells, without empty ones at its end."""
    cells: list[str | Cell] = []
    empty = 0
    for cell in row:
        if get_tag(cell) != "table:table-cell":
            continue
        text, times = read_value(cell), read_count(cell, "table:number-columns-repeated")
        columns, rows = (read_count(cell, f"table:number-{kind}-spanned") for kind in ("columns", "rows"))
        if not text and columns == rows == 1:
            empty += times
            continue
        if empty + times + len(cells) > MAX_CELLS:
            raise Unreadable(f"more than {MAX_CELLS:,} cells")
        cells += [""] * empty + [Cell(text, columns, rows) if columns * rows > 1 else text] * times
        empty = 0
    return cells


def read_value(cell: Any) -> str:
    """A cell's value: dates in ISO 8601, numbers as `format_cell` writes them, all else as the file shows it."""
    kind, value = cell.get(odf("office:value-type")), cell.get(odf("office:value"), "")
    if kind == "date":
        return str(cell.get(odf("office:date-value"), "")).removesuffix(WHOLE_DAY).replace("T", " ")
    if kind == "boolean":
        return "yes" if cell.get(odf("office:boolean-value")) == "true" else "no"
    if kind in ("float", "percentage"):
        try:
            return format_cell(float(value), "%" if kind == "percentage" else "")
        except ValueError:
            pass
    lines = [read_paragraph(paragraph) for paragraph in cell.findall(odf("text:p"))]
    return join_lines("\n".join(lines)) or str(cell.get(odf("office:string-value"), ""))


def read_paragraph(paragraph: Any) -> str:
    """The text of a paragraph. Its blanks, tabs and line breaks are elements."""
    parts = [paragraph.text or ""]
    for element in paragraph.iterdescendants():
        parts.append(" " if get_tag(element) in BLANKS else element.text or "")
        parts.append(element.tail or "")
    return "".join(parts)
