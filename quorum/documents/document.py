"""A reader's result: a title, and blocks of text with their kind and place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from quorum.core.encodings import Unreadable as Unreadable
from quorum.core.json_text import replace_lone_surrogates
from quorum.core.metadata import REMOVED_CHARACTERS

Kind = Literal["text", "heading", "code", "row"]
BLOCK_GAP = "\n\n"


@dataclass(frozen=True)
class Block:
    """A piece of a document.

    kind: "text" is prose, in which line ends mean nothing; "code" keeps its lines; "row" is a table row or another
    record and is only split if it is longer than a passage; "heading" has a `level`, 1 being the highest. page: counted
    from 1, None if the file has no pages. definition_names: for code, the names of the definitions around it.
    """

    text: str
    kind: Kind = "text"
    level: int = 0
    page: int | None = None
    definition_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """The content of a file.

    title: empty if the file has none. metadata: the file's own metadata, such as author and date, typed as in the file
    (see `quorum.core.metadata`). notes: remarks for the user, such as an assumed encoding.
    """

    title: str
    blocks: Sequence[Block]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @cached_property
    def text(self) -> str:
        """All blocks, an empty line between them. The offsets of passages count characters of this text."""
        return BLOCK_GAP.join(block.text for block in self.blocks)


def remove_unstorable(text: str) -> str:
    """The text without NUL, which cannot be stored, and without Unicode's tags, which no reader sees but a model reads.

    A lone surrogate becomes U+FFFD.
    """
    return replace_lone_surrogates(text.translate(REMOVED_CHARACTERS))


def join_lines(text: str) -> str:
    """The text with each run of white space replaced by one space.

    >>> join_lines(" a \\n b ")
    'a b'
    """
    return " ".join(text.split())
