"""Describes where a passage stands, in words and as a link."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

from quorum.core.files import escape_name
from quorum.core.state import Passage, Place

SOURCE_KEYS = ("source", "file_path", "path", "url", "file_name", "filename")  # of metadata that name a document


def describe_place(passage: Passage) -> str:
    """Where a passage stands: its first place, such as "handbook.pdf, p. 12, Leave > Parental", then up to three other
    files that contain it. For a passage of another program, the source and page that its metadata name. Empty for a
    passage that comes from no file.

    >>> place = {"file": "/docs/handbook.pdf", "page": 12, "headings": ["Leave", "Parental"]}
    >>> describe_place({"id": "1", "title": "Handbook", "text": "...", "places": [place]})
    'handbook.pdf, p. 12, Leave > Parental'
    """
    places = list_places(passage)
    if not places:
        return ""
    other_files = list(dict.fromkeys(get_file_name(place) for place in places[1:]))
    other_files_note = (
        f" (also in {', '.join(other_files[:3])}{', ...' if other_files[3:] else ''})" if other_files else ""
    )
    return format_place(places[0]) + other_files_note


def list_places(passage: Passage) -> list[Place]:
    """The passage's places, or the one that its metadata name."""
    metadata = passage.get("metadata") or {}
    places = passage.get("places") or []
    source = None if places else find_source(metadata)
    if source is None:
        return places
    place = Place(file=source)
    if (page := find_page(metadata)) is not None:
        place["page"] = page
    return [place]


def make_document_id(document: str) -> str:
    """An id of a document, from its file or address: it does not say in which folder the document is."""
    return sha256(document.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def find_page(metadata: Mapping[str, Any]) -> int | None:
    """The page, from 1. LangChain's loaders of PDF count from 0 beside the number of all pages, and may add the label
    that is printed on the page.

    >>> find_page({"page": 4, "total_pages": 9}), find_page({"page": 4, "page_label": "v"}), find_page({"page": 4})
    (5, None, 4)
    """
    page = metadata.get("page_label", metadata.get("page"))
    if isinstance(page, bool) or not isinstance(page, int | str) or not str(page).isdecimal():
        return None
    from_zero = "page_label" not in metadata and "total_pages" in metadata
    return int(page) + from_zero or None


def find_source(metadata: Mapping[str, Any]) -> str | None:
    """The file or address that metadata name; None if they name none."""
    return next((str(metadata[key]) for key in SOURCE_KEYS if metadata.get(key) not in (None, "")), None)


def format_place(place: Place) -> str:
    """The file's name, then the page, the line and the headings, if they are known."""
    parts = [get_file_name(place)]
    if "page" in place:
        parts.append(f"p. {format_pages(place['page'], place.get('last_page'))}")
    if "line" in place:
        parts.append(f"line {place['line']}")
    if place.get("headings"):
        parts.append(" > ".join(place["headings"]))
    return ", ".join(parts)


def format_pages(page: int, last_page: int | None) -> str:
    """The page, or the first and the last one.

    >>> format_pages(3, None), format_pages(3, 4)
    ('3', '3-4')
    """
    return str(page) if last_page is None else f"{page}-{last_page}"


def get_file_name(place: Place) -> str:
    """The file's path from the indexed folder on, or its name if that is not known: never a folder of the machine.

    Invisible characters are written as escapes.

    >>> get_file_name({"file": "/docs/north/index.md", "metadata": {"source": "north/index.md"}})
    'north/index.md'
    >>> get_file_name({"file": "/docs/north/index.md"})
    'index.md'
    """
    source = (place.get("metadata") or {}).get("source")
    name = source if isinstance(source, str) and source else place["file"]
    is_whole = PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute() or "://" in name
    return escape_name(PureWindowsPath(name).name or name if is_whole else name)


def make_file_link(passage: Passage) -> str:
    """A file:// link that opens the passage's file; empty if none of its files exists any more.

    A link to a PDF opens the page. If the passage has several places, the link is to the first whose file exists.
    """
    for place in list_places(passage):
        path = Path(place["file"])
        try:
            is_there = path.is_absolute() and path.is_file()
        except (OSError, ValueError):
            is_there = False
        if is_there:
            page = f"#page={place['page']}" if "page" in place and path.suffix.lower() == ".pdf" else ""
            return f"file://{quote(path.as_posix())}{page}"
    return ""
