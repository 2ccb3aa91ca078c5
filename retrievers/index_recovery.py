"""Detects files of Chroma's vector index that a crash left half-written, and removes them. Quorum then embeds the
passages again (`ledger.py`).

Chroma writes the files of a collection's vector index in place. If the process is killed at that moment, or power is
lost, the files are truncated, or old and new data are mixed in them. The passages themselves are in Chroma's database,
which is transactional. So a writer keeps a mark file in the store's folder while it writes. We distrust the index if
the mark still exists and either index files are younger than the mark or the machine has restarted since. We also
distrust files that are shorter than their header says.
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


def is_index_damaged(collection: "Collection", chroma_folder: Path) -> bool:
    """Whether a collection's vector index cannot be read, is half written, or is shorter than its header says.

    A mark file shows that an index is half written (see `is_half_written`).
    """
    from chromadb.errors import InternalError

    if has_incomplete_files(collection, chroma_folder) or any(
        map(has_truncated_links, find_index_folders(chroma_folder, str(collection.id)))
    ):
        return True
    try:
        with keep_write_mark(collection, chroma_folder):  # the read may make Chroma write to the index
            collection.get(limit=1, include=[])
    except InternalError as error:
        if not is_index_error(error):
            raise
        return True
    return False


def write_pending_vectors(collection: "Collection", chroma_folder: Path) -> None:
    """If the last writer left its mark file, make Chroma write the collection's pending vectors now.

    Pending vectors are in Chroma's database, but not yet in the index's files. Reading the id of one passage makes
    Chroma write them. A new mark file is kept meanwhile.
    """
    if get_mark_path(chroma_folder, str(collection.id)).exists():
        with keep_write_mark(collection, chroma_folder):
            collection.get(limit=1, include=[])


def has_incomplete_files(collection: "Collection", chroma_folder: Path) -> bool:
    """Whether a vector index is half written or shorter than its header says.

    Chroma does not detect this: it finds wrong passages or crashes.
    """
    indexes = find_index_folders(chroma_folder, str(collection.id))
    return is_half_written(get_mark_path(chroma_folder, str(collection.id)), indexes) or any(map(is_truncated, indexes))


@contextmanager
def keep_write_mark(collection: "Collection", chroma_folder: Path) -> Iterator[None]:
    """Keep a mark file while a collection is written and until its data is on disk.

    The mark file stays if the process crashes or the write raises an exception.
    """
    mark = get_mark_path(chroma_folder, str(collection.id))
    with mark.open("w", encoding="utf-8") as file:
        file.write(read_boot_id())
        file.flush()
        os.fsync(file.fileno())
    yield
    sync_to_disk(chroma_folder)
    mark.unlink()


def sync_to_disk(chroma_folder: Path) -> None:
    """Flush Chroma's vector indexes to disk, because Chroma does not.

    Otherwise they could be shorter than the database says after a power failure, and a search in such an index never
    ends.
    """
    for path in chroma_folder.glob("*/*"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def get_mark_path(chroma_folder: Path, collection_id: str) -> Path:
    """The path of the collection's mark file: in the store's folder, beside Chroma's folder."""
    return chroma_folder.parent / f"writing-{collection_id}"


def read_boot_id() -> str:
    """The id of the machine's present boot; empty on systems without one."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text("utf-8").strip() if path.exists() else ""


def is_half_written(mark: Path, indexes: list[Path]) -> bool:
    """Whether a mark of an unfinished write exists and index files may have been written after it."""
    if not mark.exists() or not indexes:
        return False
    mark_time = mark.stat().st_mtime_ns
    is_written_since = any(path.stat().st_mtime_ns >= mark_time for index in indexes for path in index.iterdir())
    return is_written_since or mark.read_text("utf-8").strip() != read_boot_id()


def is_index_error(error: Exception) -> bool:
    """Whether a corrupt vector index caused the failure.

    False for failures that may be temporary, such as too many open files.
    """
    message = str(error).lower()
    return "hnsw" in message and any(word in message for word in ("deserializ", "corrupt", "end of file"))


def is_truncated(index: Path) -> bool:
    """Whether files in the folder of an index are shorter than its header says; False for an index without files."""
    if not (index / "header.bin").exists():
        return False
    element_count, element_size = read_header(index)
    needed_sizes = {"data_level0.bin": element_count * element_size, "length.bin": element_count * 4}
    return not element_size or any(read_size(index / name) < needed_size for name, needed_size in needed_sizes.items())


def read_header(index: Path) -> tuple[int, int]:
    """(number of elements, bytes of one element), as the header of an index says; (0, 0) if the header is truncated."""
    header = (index / "header.bin").read_bytes()[: HEADER.size]
    if len(header) < HEADER.size:
        return 0, 0
    _, _, _, element_count, element_size = HEADER.unpack(header)
    return element_count, element_size


def has_truncated_links(index: Path) -> bool:
    """Whether the file with the links of the HNSW graph's upper levels is truncated.

    Reads the whole file: a length precedes the links of each element.
    """
    if not (index / "header.bin").exists():
        return False
    element_count, _ = read_header(index)
    links = (index / "link_lists.bin").read_bytes() if (index / "link_lists.bin").exists() else b""
    end = 0
    for _ in range(element_count):
        end += 4 + int.from_bytes(links[end : end + 4], "little")
    return end > len(links)


def read_size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def remove_index(chroma_folder: Path, collection_id: str) -> None:
    """Remove the vector index of the collection with this id. Chroma then starts an empty index.

    No client may have the index open.
    """
    for index in find_index_folders(chroma_folder, collection_id):
        shutil.rmtree(index, ignore_errors=True)
    get_mark_path(chroma_folder, collection_id).unlink(missing_ok=True)


def find_index_folders(chroma_folder: Path, collection_id: str) -> list[Path]:
    """The folders of a collection's vector index; none if the database has not the form that is known here.

    Chroma's database and the files in these folders are not public: a test names the version (docs/dependencies.md).
    """
    database_uri = (chroma_folder / "chroma.sqlite3").resolve().as_uri()
    with closing(sqlite3.connect(f"{database_uri}?mode=ro", uri=True)) as database:
        try:
            rows = database.execute(
                "SELECT id FROM segments WHERE collection = ? AND scope = 'VECTOR'", (collection_id,)
            ).fetchall()
        except sqlite3.OperationalError as error:
            if "no such" not in str(error):
                raise
            return []
    return [chroma_folder / str(segment) for (segment,) in rows if (chroma_folder / str(segment)).is_dir()]
