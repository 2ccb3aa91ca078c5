"""Plain text."""

from quorum.core.encodings import decode_text
from quorum.documents.document import Block, Document


def read(data: bytes, name: str) -> Document:
    """The text as one block, without a title."""
    text, note = decode_text(data)
    return Document("", [Block(text)], notes=[note] if note else [])
