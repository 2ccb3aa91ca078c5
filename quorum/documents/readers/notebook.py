"""Jupyter notebooks: the text, the code, and the output of the code as plain text."""

from json import JSONDecodeError
from typing import Any

from quorum.core.encodings import decode_text
from quorum.core.json_text import parse_json
from quorum.documents.document import Block, Document, Unreadable
from quorum.documents.readers.markdown import read_markdown_blocks

LONGEST_OUTPUT = 4000  # characters; what follows in an output is not read


def read(data: bytes, name: str) -> Document:
    """The blocks of the cells, in order. A heading of level 1 at the beginning becomes the title."""
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
    """The blocks of one cell: of Markdown, or of code and its outputs. Raw cells have none."""
    source = join_text(cell.get("source"))
    if cell.get("cell_type") == "markdown":
        return read_markdown_blocks(source)
    if cell.get("cell_type") != "code":
        return []
    outputs = cell.get("outputs")
    printed_texts = [get_output_text(output) for output in outputs] if isinstance(outputs, list) else []
    return [Block(text, "code") for text in [source.strip("\n"), *printed_texts] if text.strip()]


def get_output_text(output: Any) -> str:
    """The first LONGEST_OUTPUT characters of an output's plain text. Empty if the output has no plain text, as is the
    case for an error. A picture may have a plain text, such as "<Figure size ...>".
    """
    if not isinstance(output, dict):
        return ""
    data = output.get("data")
    text = join_text(data.get("text/plain")) if isinstance(data, dict) else join_text(output.get("text"))
    return text[:LONGEST_OUTPUT].strip("\n")


def join_text(value: Any) -> str:
    """The text of a notebook's value, which is a string or a list of lines; empty for any other value."""
    return "".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else ""
