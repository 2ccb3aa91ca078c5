"""The files of documents: those of uploads, which are kept under the store, and those that were indexed where they lie.

The files of one collection's uploads are in a folder of their own, `uploads/ID`, whose name does not change when the
collection is renamed or the store is moved.
"""

import os
import re
import shutil
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from io import BufferedReader
from pathlib import Path
from secrets import token_hex

from quorum.core.files import LARGEST_FILE, expand_home, open_regular
from quorum.core.store_folder import find_own_folder

FOLDER_ID = re.compile(r"[0-9a-f]{16}")
HASH_DIGITS = 32  # hexadecimal digits of SHA-256 that are kept of a file
CHUNK_SIZE = 1_048_576  # bytes that are read at once


def find_uploads_folder(store: str | Path) -> Path:
    """The folder with the files of all uploads: the store's, or that of .quorum/ if the store is a server."""
    return expand_home(find_own_folder(str(store))).resolve() / "uploads"


def choose_upload_folder(store: str | Path, documents: Iterable[str]) -> Path:
    """The folder for uploads into a collection: the one of its documents, else a new one.

    documents: the names of the collection's documents.
    """
    ids = (split_upload(document) for document in documents)
    known = next((parts[0] for parts in ids if parts is not None), None)
    return find_uploads_folder(store) / (known or token_hex(8))


def split_upload(document: str) -> tuple[str, str] | None:
    """(the folder's id, the path in the folder) of a document that was uploaded; None for any other.

    >>> split_upload("/home/me/.quorum/uploads/0123456789abcdef/hr/leave.md")
    ('0123456789abcdef', 'hr/leave.md')
    """
    parts = document.replace("\\", "/").split("/")
    for position in range(len(parts) - 3, -1, -1):
        if parts[position] == "uploads" and FOLDER_ID.fullmatch(parts[position + 1]):
            rest = parts[position + 2 :]
            return None if {"", ".", ".."} & set(rest) else (parts[position + 1], "/".join(rest))
    return None


def find_kept_file(store: str | Path, document: str) -> Path | None:
    """Where the file of an uploaded document is, or would be if it were kept; None for any other document."""
    parts = split_upload(document)
    return None if parts is None else find_uploads_folder(store) / parts[0] / parts[1]


def open_original(store: str | Path, document: str, recorded_hash: str | None) -> BufferedReader | None:
    """The file of a document, open to read; None if there is none that may be shown.

    It is the kept file of an upload, or else the file that was indexed, if it lies where it lay, no link leads there,
    and its content is what was indexed. The call blocks.
    """
    kept = find_kept_file(store, document)
    if kept is not None:
        return open_unlinked(kept)
    path = Path(document)
    if recorded_hash is None or not path.is_absolute():
        return None
    file = open_unlinked(path)
    if file is None or hash_file(file) == recorded_hash:
        return file
    file.close()
    return None


def open_unlinked(path: Path) -> BufferedReader | None:
    """A regular file, open to read; None if there is none, or if a link leads to it."""
    try:
        if path.resolve(strict=True) != path:
            return None
        return open_regular(path)
    except (OSError, ValueError, RuntimeError):
        return None


def hash_file(file: BufferedReader) -> str | None:
    """A hash of an open file's content, by which it is known again; None for a file that is too large for that."""
    digest, size = sha256(), 0
    while chunk := file.read(CHUNK_SIZE):
        size += len(chunk)
        if size > LARGEST_FILE:
            return None
        digest.update(chunk)
    file.seek(0)
    return digest.hexdigest()[:HASH_DIGITS]


def hash_path(path: Path) -> str | None:
    """As `hash_file`, for a path; None if it cannot be read."""
    try:
        with open_regular(path) as file:
            return hash_file(file)
    except OSError:
        return None


def remove_originals(store: str | Path, documents: Iterable[str]) -> None:
    """Remove the kept files of documents, and the folders that this leaves empty."""
    uploads = find_uploads_folder(store)
    if not uploads.is_dir():
        return
    for document in documents:
        path = find_kept_file(store, document)
        if path is None or uploads not in path.resolve().parents:
            continue
        with suppress(OSError):
            path.unlink(missing_ok=True)
            remove_empty_folders(path.parent, uploads)


def remove_empty_folders(folder: Path, top: Path) -> None:
    """Remove a folder and those above it, up to `top`, as far as they are empty."""
    while folder != top and top in folder.parents:
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = folder.parent


def remove_upload_folders(store: str | Path, documents: Iterable[str]) -> None:
    """Remove the folders with the uploads of a collection, which had these documents."""
    uploads = find_uploads_folder(store)
    for id_ in {parts[0] for document in documents if (parts := split_upload(document))}:
        shutil.rmtree(uploads / id_, ignore_errors=True)
