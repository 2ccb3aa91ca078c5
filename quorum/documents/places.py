"""Describes where a passage stands, in words and as a link."""

from pathlib import Path
from urllib.parse import quote

from quorum.core.files import escape_name
from quorum.core.state import Passage, Place


def describe_place(passage: Passage) -> str:
    """Where a passage stands: its first place, such as "handbook.pdf, p. 12, Leave > Parental", then up to three other
    files that contain it. Empty for a passage that comes from no file.

    >>> place = {"file": "/docs/handbook.pdf", "page": 12, "headings": ["Leave", "Parental"]}
    >>> describe_place({"id": "1", "title": "Handbook", "text": "...", "places": [place]})
    'handbook.pdf, p. 12, Leave > Parental'
    """
    places = passage.get("places") or []
    if not places:
        return ""
    other_files = list(dict.fromkeys(get_file_name(place) for place in places[1:]))
    other_files_note = (
        f" (also in {', '.join(other_files[:3])}{', ...' if other_files[3:] else ''})" if other_files else ""
    )
    return format_place(places[0]) + other_files_note


def format_place(place: Place) -> str:
    """The file's name, then the page, the line and the headings, if they are known."""
    parts = [get_file_name(place)]
    if "page" in place:
        parts.append(f"p. {place['page']}")
    if "line" in place:
        parts.append(f"line {place['line']}")
    if place.get("headings"):
        parts.append(" > ".join(place["headings"]))
    return ", ".join(parts)


def get_file_name(place: Place) -> str:
    """The file's name without its folders; invisible characters are written as escapes."""
    return escape_name(Path(place["file"]).name or place["file"])


def make_file_link(passage: Passage) -> str:
    """A file:// link that opens the passage's file; empty if none of its files exists any more.

    A link to a PDF opens the page. If the passage has several places, the link is to the first whose file exists.
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
