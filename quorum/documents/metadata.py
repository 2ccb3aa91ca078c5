"""Gives the passages of a file their metadata: Quorum's own keys, the file's, and those of the user."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import urlsplit

from quorum.core.metadata import RENAMED_START, RESERVED_KEYS, flat_metadata
from quorum.core.state import Passage

# A place has these under keys of its own, and a passage its title.
KEYS_OF_A_PLACE = ("title", "page", "heading", "modified")


def add_file_metadata(
    passages: Iterable[Passage], path: Path, roots: Sequence[Path], user: Mapping[str, Any]
) -> Iterator[Passage]:
    """The passages of a file, each with the metadata of its place.

    Before, the place holds what the file says of itself, or of the passage. roots: the indexed files and folders.
    user: metadata that the user gave for all passages; they win over those of the file, but a reserved key is renamed.
    """
    own = {"source": name_source(path, roots), "file_type": name_type(path.name)}
    added = rename_reserved(user)
    made: dict[tuple[int, bool, bool], tuple[Any, dict[str, Any]]] = {}  # passages of a document share their metadata
    for passage in passages:
        place = passage["places"][0]
        found = place.get("metadata")
        key = id(found), "page" in place, "headings" in place
        if key not in made:
            reserved = own | {"title": None, "modified": None}
            reserved |= {"page": None} if key[1] else {}
            reserved |= {"heading": None} if key[2] else {}
            # `found` is kept beside the result, so that its id is not given to another object.
            made = {key: (found, flat_metadata(reserved, {**(found or {}), **added}))}
        place["metadata"] = made[key][1]
        yield passage


def rename_reserved(user: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata that a user gives for all passages of files and documents, without Quorum's own keys.

    >>> rename_reserved({"team": "HR", "author": "Ada Korn"})
    {'team': 'HR', 'meta_author': 'Ada Korn'}
    """
    return {f"{RENAMED_START}{key}" if key in RESERVED_KEYS else key: value for key, value in user.items()}


def name_source(path: Path, roots: Sequence[Path]) -> str:
    """A file's path from the indexed folder that holds it, with slashes; the name of a file that was indexed itself.

    >>> name_source(Path("/docs/hr/leave.md"), [Path("/docs")]), name_source(Path("/docs/a.md"), [Path("/docs/a.md")])
    ('hr/leave.md', 'a.md')
    """
    root = next((root for root in roots if root != path and root in path.parents), path.parent)
    return path.relative_to(root).as_posix()


def name_type(source: str) -> str:
    """The end of a file's name or address, in small letters and without its dot; empty if it has none.

    >>> name_type("a/Handbook.PDF"), name_type("rules.jsonl.gz"), name_type("https://example.com"), name_type("Notes")
    ('pdf', 'jsonl', '', '')
    """
    path = urlsplit(source).path if "://" in source else source
    return PurePath(path.lower().removesuffix(".gz")).suffix.removeprefix(".")
