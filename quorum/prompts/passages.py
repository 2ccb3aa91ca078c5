"""Writes passages in the form that every prompt shows."""

from collections.abc import Sequence

from quorum.core.state import Passage
from quorum.prompts.escape import escape


def format_passages(passages: Sequence[Passage]) -> str:
    """The passages with title and text, numbered from 1 in their order, a blank line between two. What in them looks
    like a part of the prompt is escaped (`quorum.prompts.escape`).
    """
    return "\n\n".join(format_passage(number, passage) for number, passage in enumerate(passages, start=1))


def format_passages_or_placeholder(passages: Sequence[Passage]) -> str:
    """As `format_passages`, but '(none)' for an empty list, so that the prompt says that there are no passages."""
    return format_passages(passages) or "(none)"


def mark_passages(text: str) -> str:
    """The text of passages between the marks that no passage can close."""
    return f"<passages>\n{text}\n</passages>"


def format_passage(number: int, passage: Passage) -> str:
    """'[1] Title' with the text on the next line, or '[1] text' if there is no title."""
    parts = [part for part in (passage["title"].strip(), passage["text"].strip()) if part]
    text = "\n".join(parts)
    return f"[{number}] {escape(text, begins_line=False)}"
