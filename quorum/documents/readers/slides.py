"""Presentations (pptx). A slide is a page."""

import io
from collections.abc import Iterator
from typing import Any

from quorum.documents.document import Block, Document, clean, one_line
from quorum.documents.readers.word import core_properties, parsing
from quorum.documents.tables import rows_of
from quorum.documents.zip_parts import opened

PLAIN_TITLES = ("", "PowerPoint Presentation", "Presentation")


def read(data: bytes, name: str) -> Document:
    """Every slide's title as heading, its texts from top to bottom, its tables, and the speaker's notes."""
    with opened(data, "pptx") as archive:
        said = core_properties(archive)
    with parsing("pptx"):
        from pptx import Presentation

        slides = list(Presentation(io.BytesIO(data)).slides)
        blocks = [block for number, slide in enumerate(slides, start=1) for block in slide_blocks(slide, number)]
    title = said.pop("title", "")
    if title in PLAIN_TITLES:
        title = blocks[0].text if blocks and blocks[0].kind == "heading" and blocks[0].page == 1 else ""
    return Document(title, blocks, said)


def slide_blocks(slide: Any, number: int) -> Iterator[Block]:
    """The blocks of one slide."""
    head = slide.shapes.title
    shown = clean(one_line(head.text_frame.text)) if head is not None and head.has_text_frame else ""
    if shown:
        yield Block(shown, "heading", 2, number)
    for shape in placed(slide.shapes):
        if head is not None and shape.shape_id == head.shape_id:
            continue
        if getattr(shape, "has_table", False) and shape.has_table:
            grid = [[cell.text for cell in row.cells] for row in shape.table.rows]
            first = True if shape.table.first_row else None
            yield from (Block(clean(row), "row", page=number) for row in rows_of(grid, has_head=first))
        elif shape.has_text_frame:
            for paragraph in shape.text_frame.paragraphs:
                if text := clean(one_line(paragraph.text)):
                    yield Block(text, page=number)
    spoken = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if spoken is not None and (text := clean(one_line(spoken.text))):
        yield Block(text, page=number)


def placed(shapes: Any) -> list[Any]:
    """The shapes, those inside groups too, from top to bottom and from left to right."""
    waiting, found = list(shapes), []
    while waiting:
        shape = waiting.pop()
        if hasattr(shape, "shapes"):
            waiting += list(shape.shapes)
        else:
            found.append(shape)
    return sorted(found, key=lambda shape: (shape.top or 0, shape.left or 0))
