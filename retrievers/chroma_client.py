"""Opens clients of a Chroma store (a folder or a server) and explains their failures to the user."""

import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from quorum.core.errors import SetupError
from quorum.core.private_files import make_private_folder
from quorum.models.model_spec import check_key, read_key
from quorum.models.network_settings import explain_network_settings
from quorum.retrievers.client_of_fork import ClientOfFork
from quorum.retrievers.index_recovery import is_index_error
from quorum.retrievers.store_files import make_locked_error

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
        raise make_unreachable_error(store, error) from error


def import_chroma() -> Any:
    """The module chromadb. While it is imported, a user without a home folder, as in a container, has the folder of
    temporary files: Chroma looks for one.
    """
    if "chromadb" in sys.modules or os.path.expanduser("~") != "~":
        import chromadb
    else:
        os.environ["HOME"] = tempfile.gettempdir()
        try:
            import chromadb
        finally:
            del os.environ["HOME"]
    return chromadb


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


@contextmanager
def explain_failures(store: str) -> Iterator[None]:
    """Turn failures of the store in the `with` block into a `SetupError`. Errors of our own code pass unchanged.

    For a folder, a `ChromaError` other than an `InternalError` also passes unchanged.
    """
    import httpx

    import_chroma()
    from chromadb.errors import ChromaAuthError, ChromaError, InternalError

    try:
        yield
    except (httpx.HTTPError, ConnectionError) as error:
        raise make_unreachable_error(store, error) from error
    except ChromaAuthError as error:
        raise SetupError(
            f"The Chroma server {store} refused access ({shorten_message(error)}); if it requires a token, set "
            "CHROMA_CLIENT_AUTH_PROVIDER and CHROMA_CLIENT_AUTH_CREDENTIALS."
        ) from error
    except InternalError as error:
        if "disk is full" in str(error):
            raise SetupError(f"The disk of the store {store} is full; make room on it, then try again.") from error
        if "database is locked" in str(error):
            raise make_locked_error(store) from error
        if is_index_error(error):
            raise make_damaged_index_error(store, shorten_message(error)) from error
        raise SetupError(
            f"The store {store} cannot be read ({shorten_message(error)}); if it is damaged, remove it and index again."
        ) from error
    except sqlite3.Error as error:
        raise SetupError(
            f"The database of the store {store} cannot be read ({error}); if it is damaged, remove the store and index "
            "again."
        ) from error
    except ChromaError as error:
        if "://" not in store:
            raise
        raise SetupError(f"The Chroma server {store} answered with an error: {shorten_message(error)}") from error


def make_damaged_index_error(store: str, detail: str) -> SetupError:
    if "://" in store:
        remedy = "its files belong to the server: restore them there, or index the documents into a new collection"
    else:
        remedy = (
            "index any document into the collection with the damaged index: Quorum then embeds all passages of the "
            "collection again"
        )
    return SetupError(f"A vector index in the store {store} is damaged ({detail}); {remedy}.")


def make_unreachable_error(store: str, error: Exception) -> SetupError:
    host, port, _ = parse_address(store)
    return SetupError(
        f"No Chroma server answers at {store} ({shorten_message(error)}); "
        f"start one with: chroma run --host {host} --port {port}"
    )


def shorten_message(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def make_folder(folder: Path) -> None:
    """Create the store's folder if it is missing."""
    try:
        make_private_folder(folder)
    except OSError as error:
        raise SetupError(f"The store {folder} cannot be made ({error.strerror}); give another folder.") from None
