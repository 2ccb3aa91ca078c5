"""Explains to the user what Chroma, its server, its database and its files may raise."""

import os
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from quorum.core.errors import QuorumError, SetupError
from quorum.core.files import explain_os_error
from quorum.models.failures import is_garbled
from quorum.retrievers.index_recovery import is_index_error
from quorum.retrievers.store_files import make_locked_error

NO_CONNECTION = "Could not connect to a Chroma server"  # how Chroma says that no server answers


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


@contextmanager
def explain_failures(store: str) -> Iterator[None]:
    """Turn failures of the store in the `with` block into a `SetupError`. Errors of our own code pass unchanged."""
    import_chroma()
    try:
        yield
    except QuorumError:
        raise
    except Exception as error:
        if (explained := explain_failure(error, store)) is None:
            raise
        raise explained from error


def explain_failure(error: Exception, store: str) -> SetupError | None:
    """The sentence for an exception of Chroma, of the connection to its server, or of the files; None for any other."""
    import httpx
    from chromadb.errors import ChromaError

    if isinstance(error, httpx.TimeoutException):
        return SetupError(
            f"The Chroma server {store} did not answer in time ({shorten_message(error)}); try again later."
        )
    if isinstance(error, httpx.HTTPError | httpx.InvalidURL | ConnectionError):
        return make_unreachable_error(store, error)
    if isinstance(error, ChromaError):
        return explain_chroma_error(error, store)
    if isinstance(error, sqlite3.Error):
        return SetupError(
            f"The database of the store {store} cannot be read ({error}); if it is damaged, remove the store and index "
            "again."
        )
    if isinstance(error, OSError):
        return explain_os_error(error, f"The store {store}")
    return make_other_version_error(store, error) if is_garbled(error, "chromadb") else None


def explain_chroma_error(error: Exception, store: str) -> SetupError:
    """The sentence for one of Chroma's own exceptions."""
    from chromadb import errors

    message, subject = shorten_message(error), f"The {'Chroma server' if '://' in store else 'store'} {store}"
    if isinstance(error, errors.ChromaAuthError | errors.AuthorizationError):
        return SetupError(
            f"{subject} refused access ({message}); if it requires a token, set CHROMA_CLIENT_AUTH_PROVIDER and "
            "CHROMA_CLIENT_AUTH_CREDENTIALS."
        )
    if isinstance(error, errors.RateLimitError | errors.QuotaError):
        return SetupError(f"{subject} is used too much ({message}); try again later, or ask its owner for more.")
    if isinstance(error, errors.VersionMismatchError | errors.InvalidHTTPVersion):
        return make_other_version_error(store, error)
    if not isinstance(error, errors.InternalError):
        return SetupError(f"{subject} answered with an error: {message}; check what was asked of it.")
    if "disk is full" in message:
        return SetupError(f"The disk of the store {store} is full; make room on it, then try again.")
    if "database is locked" in message:
        return make_locked_error(store)
    if is_index_error(error):
        return make_damaged_index_error(store, message)
    return SetupError(f"The store {store} cannot be read ({message}); if it is damaged, remove it and index again.")


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
    """The error for a server that does not answer."""
    parts = urlsplit(store)
    port = parts.port or {"https": 443}.get(parts.scheme, 8000)
    return SetupError(
        f"No Chroma server answers at {store} ({shorten_message(error)}); "
        f"start one with: chroma run --host {parts.hostname} --port {port}"
    )


def make_other_version_error(store: str, error: Exception) -> SetupError:
    """The error for a server, or a folder, that is none of this version of Chroma."""
    version, message = import_chroma().__version__, shorten_message(error)
    if "://" in store:
        return SetupError(
            f"The server at {store} answers, but not as Chroma {version} does ({message}); update it if it is an older "
            "Chroma, or correct the address."
        )
    return SetupError(
        f"The store {store} cannot be read by Chroma {version} ({message}); if another version of Chroma made it, "
        "index the documents into a new store."
    )


def shorten_message(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
