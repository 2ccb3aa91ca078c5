"""Plain text."""

from quorum.documents.document import Block, Document
from quorum.documents.encodings import decode_text


def read(data: bytes, name: str) -> Document:
    """The text as one block, without a title."""
    text, note = decode_text(data)
    return Document("", [Block(text)], notes=[note] if note else [])
