"""Names of collections, by Chroma's rules."""

import re
from ipaddress import IPv4Address

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


def get_located_collection(context: Context) -> str:
    """The collection of a context that `locate_collection` returned. Raises `SetupError` if it names none."""
    return check_collection_name(context.collection or "")


def is_ip_address(name: str) -> bool:
    try:
        return bool(IPv4Address(name))
    except ValueError:
        return False
