"""Detects vector-index files of Chroma left half-written by a crash, and removes them so that they are rebuilt.

Chroma writes the files of a collection's vector index in place. If the process is killed at that moment, or power is
lost, the files are cut or mixed. The passages themselves are in Chroma's database, which is transactional. So a writer
places a mark file beside the store while it writes. We distrust the index if the mark is still there and index files
are younger than it, or the machine has restarted since. We also distrust files that are shorter than their header says.
"""

import os
import shutil
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

HEADER = struct.Struct("<i4q64x")  # version, offset, capacity, elements, bytes of an element, and more


def is_torn(collection: "Collection", folder: Path) -> bool:
    """Whether a collection's vector index cannot be read, or is too short for its header. `folder`: Chroma's own."""
    from chromadb.errors import InternalError

    if is_cut(collection, folder) or any(map(lacks_links, index_folders(folder, str(collection.id)))):
        return True
    try:
        with marked(collection, folder):
            collection.get(limit=1, include=[])
    except InternalError as error:
        if not speaks_of_index(error):
            raise
        return True
    return False


def take_in(collection: "Collection", folder: Path) -> None:
    """If a writer ended before Chroma wrote its vectors, make Chroma write them now, under a mark like any write."""
    if mark_of(folder, str(collection.id)).exists():
        with marked(collection, folder):
            collection.get(limit=1, include=[])


def is_cut(collection: "Collection", folder: Path) -> bool:
    """Whether a vector index was being written when its writer ended, or is shorter than its header says. Chroma does
    not notice: it finds wrong passages, or crashes.
    """
    indexes = index_folders(folder, str(collection.id))
    return is_half_written(mark_of(folder, str(collection.id)), indexes) or any(map(is_short, indexes))


@contextmanager
def marked(collection: "Collection", folder: Path) -> Iterator[None]:
    """Keep a mark file while a collection is written, until the disk has the data. A writer that crashes leaves the
    mark.
    """
    mark = mark_of(folder, str(collection.id))
    with mark.open("w", encoding="utf-8") as file:
        file.write(boot())
        file.flush()
        os.fsync(file.fileno())
    yield
    settle(folder)
    mark.unlink()


def settle(folder: Path) -> None:
    """Flush Chroma's vector indexes to disk, because Chroma does not. Otherwise, after a loss of power, they would be
    shorter than the database says, and a search in a torn index never ends.
    """
    for path in folder.glob("*/*"):
        with suppress(OSError):
            number = os.open(path, os.O_RDONLY)
            try:
                os.fsync(number)
            finally:
                os.close(number)


def mark_of(folder: Path, collection: str) -> Path:
    return folder.parent / f"writing-{collection}"


def boot() -> str:
    """The id of the machine's present boot; empty if the system does not provide one."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text("utf-8").strip() if path.exists() else ""


def is_half_written(mark: Path, indexes: list[Path]) -> bool:
    """Whether the mark of an unfinished write exists, and index files may have been written since."""
    if not mark.exists() or not indexes:
        return False
    begun = mark.stat().st_mtime_ns
    written = any(path.stat().st_mtime_ns >= begun for index in indexes for path in index.iterdir())
    return written or mark.read_text("utf-8").strip() != boot()


def speaks_of_index(error: Exception) -> bool:
    """Whether a corrupt vector index caused the failure, not the system, whose failures may pass."""
    said = str(error).lower()
    return "hnsw" in said and any(word in said for word in ("deserializ", "corrupt", "end of file"))


def is_short(index: Path) -> bool:
    """Whether files of an index lack elements that its header counts; False if none has been written yet."""
    if not (index / "header.bin").exists():
        return False
    elements, size = counted(index)
    needed = {"data_level0.bin": elements * size, "length.bin": elements * 4}
    return not size or any(length_of(index / name) < least for name, least in needed.items())


def counted(index: Path) -> tuple[int, int]:
    """(elements, bytes of each) according to the header of an index; (0, 0) if the header is cut."""
    begin = (index / "header.bin").read_bytes()[: HEADER.size]
    if len(begin) < HEADER.size:
        return 0, 0
    _, _, _, elements, size = HEADER.unpack(begin)
    return elements, size


def lacks_links(index: Path) -> bool:
    """Whether the upper levels of an index are cut. Each element has a length and that many bytes; reads all."""
    if not (index / "header.bin").exists():
        return False
    elements, _ = counted(index)
    links = (index / "link_lists.bin").read_bytes() if (index / "link_lists.bin").exists() else b""
    place = 0
    for _ in range(elements):
        place += 4 + int.from_bytes(links[place : place + 4], "little")
    return place > len(links)


def length_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def clear(folder: Path, collection: str) -> None:
    """Remove the vector index of a collection, by id; no client may have it open. Chroma then starts an empty one."""
    for index in index_folders(folder, collection):
        shutil.rmtree(index, ignore_errors=True)
    mark_of(folder, collection).unlink(missing_ok=True)


def index_folders(folder: Path, collection: str) -> list[Path]:
    """The folders of a collection's vector index."""
    place = (folder / "chroma.sqlite3").resolve().as_uri()
    with closing(sqlite3.connect(f"{place}?mode=ro", uri=True)) as database:
        found = database.execute(
            "SELECT id FROM segments WHERE collection = ? AND scope = 'VECTOR'", (collection,)
        ).fetchall()
    return [folder / str(segment) for (segment,) in found if (folder / str(segment)).is_dir()]
