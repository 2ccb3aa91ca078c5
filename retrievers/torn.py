"""Vector indexes of Chroma that an abrupt end has torn: how they are told, and cleared to be made anew.

Chroma writes the files of a collection's vector index in place, so that a process killed in that moment, or a loss of
power, leaves them cut or mixed. The passages themselves are in its database, which is transactional.
"""

import shutil
import sqlite3
import struct
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection

HEADER = struct.Struct("<i4q64x")  # version, offset, capacity, elements, bytes of an element, and more


def is_torn(collection: "Collection", folder: Path) -> bool:
    """Whether a collection's vector index cannot be read, or is shorter than it says. `folder`: Chroma's own."""
    from chromadb.errors import InternalError

    if is_cut(collection, folder) or any(map(lacks_links, index_folders(folder, str(collection.id)))):
        return True
    try:
        collection.get(limit=1, include=[])
    except InternalError as error:
        if not speaks_of_index(error):
            raise
        return True
    return False


def is_cut(collection: "Collection", folder: Path) -> bool:
    """Whether a vector index is shorter than it says. Chroma would not notice: it finds wrong passages, or crashes."""
    return any(is_short(path) for path in index_folders(folder, str(collection.id)))


def speaks_of_index(error: Exception) -> bool:
    """Whether a failure is one of reading a vector index."""
    return "hnsw" in str(error).lower()


def is_short(index: Path) -> bool:
    """Whether files of an index lack elements that its header counts; False where none has been written yet."""
    if not (index / "header.bin").exists():
        return False
    elements, size = counted(index)
    needed = {"data_level0.bin": elements * size, "length.bin": elements * 4}
    return not size or any(length_of(index / name) < least for name, least in needed.items())


def counted(index: Path) -> tuple[int, int]:
    """(elements, bytes of each) by the header of an index; (0, 0) where it is cut."""
    begin = (index / "header.bin").read_bytes()[: HEADER.size]
    if len(begin) < HEADER.size:
        return 0, 0
    _, _, _, elements, size = HEADER.unpack(begin)
    return elements, size


def lacks_links(index: Path) -> bool:
    """Whether the upper levels of an index, a length and so many bytes for each element, are cut. Reads all of them."""
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
    """Remove the vector index of a collection, by id, which no client has open: Chroma begins an empty one."""
    for index in index_folders(folder, collection):
        shutil.rmtree(index, ignore_errors=True)


def index_folders(folder: Path, collection: str) -> list[Path]:
    """Where the vector index of a collection lies."""
    with closing(sqlite3.connect(f"file:{folder / 'chroma.sqlite3'}?mode=ro", uri=True)) as database:
        found = database.execute(
            "SELECT id FROM segments WHERE collection = ? AND scope = 'VECTOR'", (collection,)
        ).fetchall()
    return [folder / str(segment) for (segment,) in found if (folder / str(segment)).is_dir()]
