"""Says to which document a passage belongs."""

from typing import NamedTuple

from quorum.core.state import Passage


class DocumentName(NamedTuple):
    """What tells a document from others.

    source: its file, or the name under which it was indexed; empty for a passage that comes with the question and names
    no file. part: where each line of a file is a record, the records' title, or the line if there is none; so the
    records of a file with the same title are one document. Of a passage without a source its title, or its id.
    """

    source: str
    part: str = ""


def name_document(passage: Passage) -> DocumentName:
    """The document of a passage, by its first place.

    >>> name_document({"id": "1", "title": "Handbook", "text": "...", "places": [{"file": "/docs/handbook.pdf"}]})
    DocumentName(source='/docs/handbook.pdf', part='')
    """
    places = passage.get("places")
    if not places:
        return DocumentName("", passage["title"] or passage["id"])
    return name_part(places[0]["file"], passage["title"], places[0].get("line"))


def name_part(source: str, title: str, line: int | None) -> DocumentName:
    """The document of a passage in a file. line: its line if each line of the file is a record, else None."""
    return DocumentName(source, "" if line is None else title or f"line {line}")
