"""Passages of LangChain's documents, from any loader or splitter."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from langchain_core.documents import Document as LangChainDocument

from quorum.core.json_text import make_plain
from quorum.core.state import Passage, Place
from quorum.datasets.records import hash_content
from quorum.documents.document import Block, Document, join_lines, remove_unstorable
from quorum.documents.pieces import LONGEST_HEADING, Piece, add_context, set_content_id, split_document
from quorum.documents.places import find_page, find_source
from quorum.documents.readers import SUFFIXES_OF_MODULE, load_reader
from quorum.documents.split import count_half_words

UNNAMED = "document "  # then the id: what a document without a source is called
TITLE_KEYS = ("title", "name", "heading", "file_name", "filename")  # the first that a document has is its title
# Of the metadata that LangChain's splitters by headings give, such as "Header 1".
HEADING_KEY = re.compile(r"h(?:ead(?:er|ing))?[ _-]?([1-6])", re.IGNORECASE)
# Files whose text a loader may give as it is; from others, such as PDF, it gives the text alone.
MARKED_SUFFIXES = tuple(SUFFIXES_OF_MODULE["markdown"] + SUFFIXES_OF_MODULE["source_code"])


def name_document(document: LangChainDocument) -> str:
    """What a document is called: the source that its metadata name, or UNNAMED and its id, which is a hash of its
    content if it has none.

    >>> name_document(LangChainDocument("The quay.", metadata={"source": "quays.txt"}))
    'quays.txt'
    >>> name_document(LangChainDocument("The quay.", id="7"))
    'document 7'
    """
    source = find_source(document.metadata)
    if source is not None:
        return remove_unstorable(source)
    return UNNAMED + (get_own_id(document) or hash_content(find_title(document.metadata), document.page_content))


def get_own_id(document: LangChainDocument) -> str:
    """The id that the document, or its metadata, has; empty if there is none."""
    id_ = document.metadata.get("id") if document.id is None else document.id
    return "" if id_ is None else remove_unstorable(str(id_)).strip()


def read_langchain_passages(
    document: LangChainDocument, words: int | None, title_key: str | None = None, *, outline: bool = False
) -> Iterator[Passage]:
    """The passages of a document, none if it has no text.

    words: a document of more words is split into passages of at most so many; None: it is one passage, whatever its
    length. title_key: the key of its metadata that holds the title; None: the first of TITLE_KEYS, or else the source.
    outline: whether the passages have a `context` (see `quorum.documents.outline`).

    A passage has the document's id, with #1, #2, ... if there are several; without one, a hash of its content. Its
    place names the document's source, or what `name_document` calls it, and holds its metadata.
    """
    text, metadata = remove_unstorable(document.page_content), make_plain(document.metadata)
    if not text.strip():
        return
    title, source, own_id = find_title(metadata, title_key), find_source(metadata), get_own_id(document)
    parsed_document = Document("", [Block(text)])
    if words is None or count_half_words(text) <= 2 * words:
        pieces = [Piece(text, 0, len(text), None, ())]
    else:
        parsed_document = parse_text(text, source)
        pieces = list(split_document(parsed_document, words, outline=outline))
    title = remove_unstorable(join_lines(title or parsed_document.title or PurePath(source or "").stem))
    start = find_start(metadata) if parsed_document.text == text else None
    for number, piece in enumerate(pieces, start=1):
        place = make_place(name_document(document), metadata, piece, start)
        passage = add_context(Passage(id=own_id, title=title, text=piece.text, places=[place]), piece.context)
        if own_id and len(pieces) > 1:
            passage["id"] = f"{own_id}#{number}"
        yield passage if own_id else set_content_id(passage)


def parse_text(text: str, source: str | None) -> Document:
    """The blocks of a text: of Markdown or of source code if the source's name says so, else one block of prose."""
    if source is not None and source.lower().endswith(MARKED_SUFFIXES):
        path = Path(source)
        parsed_document = load_reader(path)(text.encode(), path.name)
        return replace(
            parsed_document,
            blocks=[replace(block, text=remove_unstorable(block.text)) for block in parsed_document.blocks],
        )
    return Document("", [Block(text)])


def find_title(metadata: Mapping[str, Any], title_key: str | None = None) -> str:
    """The title that metadata give, under `title_key` or else the first of TITLE_KEYS that they have; "" for none."""
    keys = TITLE_KEYS if title_key is None else (title_key,)
    return next((str(metadata[key]) for key in keys if metadata.get(key) not in (None, "")), "")


def list_headings(metadata: Mapping[str, Any]) -> list[str]:
    """The headings above a text, from the highest down, as LangChain's splitters by headings name them.

    >>> list_headings({"Header 2": "Parental", "Header 1": "Leave", "source": "handbook.md"})
    ['Leave', 'Parental']
    """
    levels = {key: HEADING_KEY.fullmatch(key) for key in metadata}
    found = sorted((level[1], str(metadata[key])) for key, level in levels.items() if level and metadata[key])
    return [remove_unstorable(join_lines(heading))[:LONGEST_HEADING] for _, heading in found]


def make_place(name: str, metadata: dict[str, Any], piece: Piece, start: int | None) -> Place:
    """Where a piece stands in its document. start: how many characters of its source stand before the document; None if
    that is unknown.
    """
    place = Place(file=name, given=True)
    if (page := find_page(metadata)) is not None:
        place["page"] = page
    if headings := [*list_headings(metadata), *piece.headings]:
        place["headings"] = headings
    if start is not None:
        place["start"], place["end"] = start + piece.start, start + piece.end
    if metadata:
        place["metadata"] = metadata
    return place


def find_start(metadata: Mapping[str, Any]) -> int | None:
    """The number of characters before a text in its source, which LangChain's splitters count on request."""
    start = metadata.get("start_index")
    return start if isinstance(start, int) and not isinstance(start, bool) and start >= 0 else None
