"""Where a passage stands, in words and as a link."""

from pathlib import Path
from urllib.parse import quote

from quorum.core.files import shown_name
from quorum.core.state import Passage, Place


def where(passage: Passage) -> str:
    """Where a passage stands: "handbook.pdf, p. 12, Leave > Parental"; empty for one that stands in no file.

    >>> place = {"file": "/docs/handbook.pdf", "page": 12, "headings": ["Leave", "Parental"]}
    >>> where({"id": "1", "title": "Handbook", "text": "...", "places": [place]})
    'handbook.pdf, p. 12, Leave > Parental'
    """
    places = passage.get("places") or []
    if not places:
        return ""
    others = list(dict.fromkeys(name_of(place) for place in places[1:]))
    also = f" (also in {', '.join(others[:3])}{', ...' if others[3:] else ''})" if others else ""
    return shown_place(places[0]) + also


def shown_place(place: Place) -> str:
    """File, page or line, and headings."""
    parts = [name_of(place)]
    if "page" in place:
        parts.append(f"p. {place['page']}")
    if "line" in place:
        parts.append(f"line {place['line']}")
    if place.get("headings"):
        parts.append(" > ".join(place["headings"]))
    return ", ".join(parts)


def name_of(place: Place) -> str:
    """The file's name without its folders."""
    return shown_name(Path(place["file"]).name or place["file"])


def link(passage: Passage) -> str:
    """A file:// link that opens the passage's file, a PDF at the page; empty where the file is not there any more.

    The first place whose file is there counts.
    """
    for place in passage.get("places") or []:
        path = Path(place["file"])
        try:
            is_there = path.is_absolute() and path.is_file()
        except (OSError, ValueError):
            is_there = False
        if is_there:
            page = f"#page={place['page']}" if "page" in place and path.suffix.lower() == ".pdf" else ""
            return f"file://{quote(path.as_posix())}{page}"
    return ""
