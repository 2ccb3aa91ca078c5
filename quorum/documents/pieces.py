"""A document or a long passage, cut into the passages that are indexed."""

from collections.abc import Iterator
from pathlib import Path

from quorum.core.state import Passage
from quorum.datasets.records import content_hash
from quorum.documents.read import read_document
from quorum.documents.split import size, split

LONGEST_LINE = 3


def pieces_of(path: Path, words: int = 100) -> Iterator[Passage]:
    """The passages of a document, named by their content."""
    document = read_document(path)
    for text in split(document.text, words):
        yield Passage(id=content_hash(document.title, text), title=document.title, text=text)


def pieces_of_passage(passage: Passage, words: int) -> Iterator[Passage]:
    """The passage as it is; one that is far too long in parts."""
    limit = 2 * LONGEST_LINE * words
    if len(passage["text"]) <= limit or size(passage["text"]) <= limit:
        yield passage
        return
    for part, text in enumerate(split(passage["text"], words), start=1):
        yield Passage(id=f"{passage['id']}#{part}", title=passage["title"], text=text)
