"""Checks files that are zip archives (Office, EPUB) before the parts in them are parsed."""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from quorum.core.files import format_megabytes
from quorum.documents.document import Unreadable

MAX_PARTS = 20_000
LARGEST_UNPACKED = 500_000_000  # bytes of all parts together
LARGEST_TEXT = 50_000_000  # bytes of one XML part; parsing it takes about twenty times as much memory
XML_SUFFIXES = (".xml", ".rels", ".opf", ".ncx", ".xhtml", ".html", ".htm")
ENTITY = re.compile(rb"<!\s*ENTITY", re.IGNORECASE)

# What zipfile raises for damaged archives: ValueError for names that are not UTF-8 and places before the file.
DAMAGES = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError, ValueError, OSError)


@contextmanager
def open_archive(data: bytes, kind: str, *, allow_entities: bool = False) -> Iterator[zipfile.ZipFile]:
    """Open an archive after a check of its unpacked size. Raises `Unreadable` for zip bombs, damaged and locked
    archives.

    kind: the name of the format in the error message, such as "docx". allow_entities: whether XML parts may declare
    entities. Office formats never declare any, and a few lines of entities can expand to gigabytes.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_archive_size(archive)
            if not allow_entities:
                refuse_entities(archive)
            yield archive
    except Unreadable:
        raise
    except DAMAGES as error:
        # These four bytes begin an OLE file: an Office file of an older format, or one that is locked by a password.
        is_locked = "encrypted" in str(error) or data.startswith(b"\xd0\xcf\x11\xe0")
        if is_locked:
            raise Unreadable(
                f"locked by a password, or of an older format; save it in the {kind} format without a password"
            ) from None
        raise Unreadable(f"damaged, or not in the {kind} format ({type(error).__name__})") from None


def check_archive_size(archive: zipfile.ZipFile) -> None:
    """Refuse archives that would fill the memory. The declared sizes are enough for this check, because `zipfile`
    never unpacks more.
    """
    parts = archive.infolist()
    if len(parts) > MAX_PARTS:
        raise Unreadable(f"a zip archive of {len(parts):,} parts; at most {MAX_PARTS:,} are read")
    unpacked_size = sum(part.file_size for part in parts)
    if unpacked_size > LARGEST_UNPACKED:
        raise Unreadable(
            f"unpacks to {format_megabytes(unpacked_size)}; at most {format_megabytes(LARGEST_UNPACKED)} are read"
        )
    for part in parts:
        if part.filename.lower().endswith(XML_SUFFIXES) and part.file_size > LARGEST_TEXT:
            raise Unreadable(
                f"{part.filename[:60]} in it unpacks to {format_megabytes(part.file_size)}; "
                f"at most {format_megabytes(LARGEST_TEXT)} are read"
            )


def refuse_entities(archive: zipfile.ZipFile) -> None:
    """Raise `Unreadable` if an XML part declares entities."""
    for part in archive.infolist():
        if not part.filename.lower().endswith(XML_SUFFIXES):
            continue
        data = archive.read(part)
        if ENTITY.search(data) or ENTITY.search(data.replace(b"\0", b"")):  # without \0, UTF-16 reads like ASCII
            raise Unreadable("its XML declares entities, which Office files never do")
