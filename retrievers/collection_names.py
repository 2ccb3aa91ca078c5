"""Names of collections, by Chroma's rules."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address
from pathlib import Path

from quorum.core.context import Context
from quorum.core.errors import SetupError

SAMPLE = "sample"  # the collection of the sample documents; no other documents are added to it
NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")


def check_collection_name(name: str) -> str:
    """The name. Raises `SetupError` if Chroma does not accept it as the name of a collection."""
    if not NAME.fullmatch(name) or ".." in name or is_ip_address(name):
        raise SetupError(
            f"{name[:60]!r} cannot name a collection; write 3 to 512 characters of a-z, A-Z, 0-9, '.', '_' and '-', "
            "with a letter or digit at both ends and no two dots together; an IP address is not allowed."
        )
    return name


def check_own_collection_name(name: str) -> None:
    """Raise `SetupError` if users cannot index into a collection of this name."""
    if check_collection_name(name) == SAMPLE:
        raise SetupError(
            f"The collection {SAMPLE!r} is reserved for the sample documents; give another name with --collection."
        )


def name_collection_after(paths: Sequence[Path]) -> str:
    """The name of a collection for one folder or file: its name, without the ending of a file.

    Raises `SetupError` if there are several paths, or if no collection can have such a name.

    >>> name_collection_after([Path("docs")]), name_collection_after([Path("Staff handbook (2026).pdf")])
    ('docs', 'Staff-handbook-2026')
    """
    if len(paths) != 1:
        raise SetupError(
            f"Several paths name no collection ({', '.join(str(path)[:60] for path in paths[:3])}); give "
            "--collection NAME."
        )
    path = paths[0].resolve()
    name = re.sub(r"[^a-zA-Z0-9._]+|\.\.+", "-", path.name if path.is_dir() else path.stem).strip("._-")
    if not NAME.fullmatch(name) or is_ip_address(name):
        raise SetupError(f"No collection can be named after {path.name[:60]!r}; give --collection NAME.")
    return name


def get_located_collection(context: Context) -> str:
    """The collection of a context that `locate_collection` returned. Raises `SetupError` if it names none."""
    return check_collection_name(context.collection or "")


def is_ip_address(name: str) -> bool:
    try:
        return bool(IPv4Address(name))
    except ValueError:
        return False
