"""Presentations (pptx). Each slide counts as a page."""

import io
import re
from collections.abc import Iterator
from typing import Any

from quorum.documents.charts import DRAWING, make_chart_blocks
from quorum.documents.document import Block, Document, clean_title, join_lines, remove_unstorable
from quorum.documents.formulas import OFFICE, format_office_formula
from quorum.documents.readers.word import convert_parser_errors, parse_part, read_core_properties
from quorum.documents.tables import Cell, Grid, make_table_blocks
from quorum.documents.zip_parts import open_archive

WRITTEN_BY_PROGRAM = re.compile(r"\s*Description automatically generated.*|\s*Automatically generated .*", re.DOTALL)


def read(data: bytes, name: str) -> Document:
    """Of every slide: the title as a heading, the texts, tables, charts' data and pictures' alternative texts from top
    to bottom, and the speaker's notes.

    The document's title is the one in the file's properties or, if that says nothing, the title of the first slide.
    """
    with open_archive(data, "pptx") as archive:
        metadata = read_core_properties(archive)
    with convert_parser_errors("pptx"):
        from pptx import Presentation

        slides = list(Presentation(io.BytesIO(data)).slides)
        blocks = [block for number, slide in enumerate(slides, start=1) for block in read_slide(slide, number)]
    title = clean_title(metadata.pop("title", ""))
    if not title:
        title = blocks[0].text if blocks and blocks[0].kind == "heading" and blocks[0].page == 1 else ""
    return Document(title, blocks, metadata)


def read_slide(slide: Any, number: int) -> Iterator[Block]:
    """The blocks of one slide."""
    for shape in slide.shapes:
        write_formulas(shape.element)
    title_shape = slide.shapes.title
    slide_title = (
        remove_unstorable(join_lines(title_shape.text_frame.text))
        if title_shape is not None and title_shape.has_text_frame
        else ""
    )
    if slide_title:
        yield Block(slide_title, "heading", 2, number)
    for shape in sort_shapes(slide.shapes):
        if title_shape is not None and shape.shape_id == title_shape.shape_id:
            continue
        if getattr(shape, "has_table", False) and shape.has_table:
            # Every new table says that its first row has names, so that it is only likely.
            names_are_usual = bool(shape.table.first_row)
            yield from make_table_blocks(read_grid(shape.table), names_are_usual=names_are_usual, page=number)
        elif getattr(shape, "has_chart", False) and shape.has_chart:
            root = parse_part(shape.chart.part.blob)
            yield from [] if root is None else make_chart_blocks(root, number)
        elif shape.has_text_frame:
            for paragraph in shape.text_frame.paragraphs:
                if text := remove_unstorable(join_lines(paragraph.text)):
                    yield Block(text, page=number)
        if text := get_alternative_text(shape):
            yield Block(text, page=number)
    notes_frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes_frame is not None and (text := remove_unstorable(join_lines(notes_frame.text))):
        yield Block(text, page=number)


def write_formulas(element: Any) -> None:
    """Write the text of each formula before it, as a run of its paragraph: python-pptx reads only runs."""
    from lxml import etree

    for formula in element.iter(f"{OFFICE}oMath"):
        part = formula
        while part is not None and (part.getparent() is None or part.getparent().tag != f"{DRAWING}p"):
            part = part.getparent()
        if part is not None:
            run = etree.SubElement(part.getparent(), f"{DRAWING}r")
            etree.SubElement(run, f"{DRAWING}t").text = format_office_formula(formula)
            part.addprevious(run)


def read_grid(table: Any) -> Grid:
    """The cells of a table, row by row, without those that another cell covers."""
    return [
        [
            Cell(cell.text, cell.span_width, cell.span_height) if cell.is_merge_origin else cell.text
            for cell in row.cells
            if not cell.is_spanned
        ]
        for row in table.rows
    ]


def get_alternative_text(shape: Any) -> str:
    """What a picture or drawing shows, in the author's words."""
    texts = (element.get("descr") or "" for element in shape.element.iter("{*}cNvPr"))
    return remove_unstorable(join_lines(WRITTEN_BY_PROGRAM.sub("", next(texts, ""))))


def sort_shapes(shapes: Any) -> list[Any]:
    """The shapes, including those inside groups, from top to bottom and from left to right."""
    waiting_shapes, ordered_shapes = list(shapes), []
    while waiting_shapes:
        shape = waiting_shapes.pop()
        if hasattr(shape, "shapes"):
            waiting_shapes += list(shape.shapes)
        else:
            ordered_shapes.append(shape)
    return sorted(ordered_shapes, key=lambda shape: (shape.top or 0, shape.left or 0))
