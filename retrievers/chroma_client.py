"""Opens clients of a Chroma store: a folder or a server."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from quorum.core.errors import SetupError
from quorum.core.private_files import make_private_folder
from quorum.models.model_spec import check_key, read_key
from quorum.models.network_settings import explain_network_settings
from quorum.retrievers.client_of_fork import ClientOfFork
from quorum.retrievers.store_failures import (
    NO_CONNECTION,
    import_chroma,
    make_other_version_error,
    make_unreachable_error,
)

if TYPE_CHECKING:
    from chromadb.api import ClientAPI

USERS: list[int] = []  # the ids of the processes that opened a client: this one, or the one it was forked from
DEFAULT_PORTS = {"http": 8000, "https": 443}


def open_chroma_client(store: str) -> "ClientAPI":
    """A client of the store: a folder, or a server at http://host:port; Chroma Cloud is at https://api.trychroma.com.

    A server's tenant and database are those of CHROMA_TENANT and CHROMA_DATABASE, or its default ones; CHROMA_API_KEY
    is its token, and CHROMA_HEADERS holds other headers as a JSON object.

    The first call imports chromadb, which takes about a second. In a process that was forked from one which had opened
    a client, it is a client of another process.
    """
    if is_forked_after_use():
        return cast("ClientAPI", ClientOfFork(store))
    chromadb = import_chroma()
    from chromadb.config import DEFAULT_DATABASE, DEFAULT_TENANT, Settings

    USERS.append(os.getpid())
    chroma_settings = Settings(anonymized_telemetry=False)
    if "://" not in store:
        return cast("ClientAPI", chromadb.PersistentClient(path=store, settings=chroma_settings))
    host, port, ssl = parse_address(store)
    try:
        with explain_network_settings():
            client: ClientAPI = chromadb.HttpClient(
                host=host,
                port=port,
                ssl=ssl,
                settings=chroma_settings,
                headers=read_headers(),
                tenant=os.environ.get("CHROMA_TENANT") or DEFAULT_TENANT,
                database=os.environ.get("CHROMA_DATABASE") or DEFAULT_DATABASE,
            )
            return client
    except ValueError as error:  # Chroma raises this if its first request fails for any reason
        is_alone = NO_CONNECTION in str(error)
        raise (make_unreachable_error if is_alone else make_other_version_error)(store, error) from error


def is_forked_after_use() -> bool:
    """Whether the process from which this one was forked had opened a client."""
    return bool(USERS) and os.getpid() not in USERS


def read_headers() -> dict[str, str]:
    """The headers of every request to a server. Raises `SetupError` if CHROMA_HEADERS is no JSON object of texts."""
    text, key = os.environ.get("CHROMA_HEADERS") or "{}", read_key("CHROMA_API_KEY")
    try:
        headers = json.loads(text)
    except ValueError:
        headers = None
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise SetupError('CHROMA_HEADERS is no JSON object of texts; write it like {"X-Team": "search"}.')
    for name, value in headers.items():
        check_key(f"{name}{value}", f"The header {name} in CHROMA_HEADERS")
    return headers | ({"x-chroma-token": key} if key else {})


def parse_address(url: str) -> tuple[str, int, bool]:
    """(host, port, whether the connection is encrypted) of a server's URL. Raises `SetupError` for any other URL."""
    parts = urlsplit(url)
    try:
        port = (parts.port or DEFAULT_PORTS[parts.scheme]) if parts.scheme in DEFAULT_PORTS else 0
    except ValueError:
        port = 0
    if not port or not parts.hostname or parts.path not in ("", "/") or parts.query:
        raise SetupError(
            f"The store {url!r} is not an address of a Chroma server; write it like http://localhost:8000."
        )
    return parts.hostname, port, parts.scheme == "https"


def make_folder(folder: Path) -> None:
    """Create the store's folder if it is missing."""
    try:
        make_private_folder(folder)
    except OSError as error:
        raise SetupError(f"The store {folder} cannot be made ({error.strerror}); give another folder.") from None
