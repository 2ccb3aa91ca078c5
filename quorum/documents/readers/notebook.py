"""Jupyter notebooks: text, code, and its printed output."""

from json import JSONDecodeError
from typing import Any

from quorum.core.json_text import parse_json
from quorum.documents.document import Block, Document, Unreadable
from quorum.documents.encodings import decode_text
from quorum.documents.readers.markdown import read_markdown_blocks

LONGEST_OUTPUT = 4000  # characters that are read of each output


def read(data: bytes, name: str) -> Document:
    """The cells in order. The title is a heading of level 1 at the beginning."""
    text, note = decode_text(data)
    try:
        cells = parse_json(text)["cells"]
    except (JSONDecodeError, KeyError, TypeError):
        cells = None
    if not isinstance(cells, list):
        raise Unreadable("not a notebook of format 4")
    blocks = [block for cell in cells if isinstance(cell, dict) for block in read_cell(cell)]
    title = ""
    if blocks and blocks[0].kind == "heading" and blocks[0].level == 1:
        title, blocks = blocks[0].text, blocks[1:]
    return Document(title, blocks, notes=[note] if note else [])


def read_cell(cell: dict[str, Any]) -> list[Block]:
    """The blocks of one cell."""
    source = join_text(cell.get("source"))
    if cell.get("cell_type") == "markdown":
        return read_markdown_blocks(source)
    if cell.get("cell_type") != "code":
        return []
    outputs = cell.get("outputs")
    printed_texts = [get_output_text(output) for output in outputs] if isinstance(outputs, list) else []
    return [Block(text, "code") for text in [source.strip("\n"), *printed_texts] if text.strip()]


def get_output_text(output: Any) -> str:
    """The plain text of an output."""
    if not isinstance(output, dict):
        return ""
    data = output.get("data")
    text = join_text(data.get("text/plain")) if isinstance(data, dict) else join_text(output.get("text"))
    return text[:LONGEST_OUTPUT].strip("\n")


def join_text(value: Any) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""
