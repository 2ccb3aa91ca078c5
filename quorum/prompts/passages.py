"""How passages are written in every prompt."""

from collections.abc import Sequence

from quorum.core.state import Passage


def numbered(passages: Sequence[Passage]) -> str:
    """Numbered from 1 in the given order, title and text, a blank line between."""
    return "\n\n".join(written(number, passage) for number, passage in enumerate(passages, start=1))


def numbered_or_none(passages: Sequence[Passage]) -> str:
    """As `numbered`; a prompt whose passages were all filtered out says so."""
    return numbered(passages) or "(none)"


def written(number: int, passage: Passage) -> str:
    """'[1] Title' and the text below it, or '[1] text' without a title."""
    parts = [part for part in (passage["title"].strip(), passage["text"].strip()) if part]
    return f"[{number}] " + "\n".join(parts)
