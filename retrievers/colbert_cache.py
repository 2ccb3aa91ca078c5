"""Computes the token vectors of a collection, and caches them on the local disk until the collection changes.

A passage with an unchanged title and text keeps its vectors from the previous revision.
"""

import shutil
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from filelock import FileLock

from quorum.core.errors import SetupError
from quorum.core.private_files import FILE_MODE
from quorum.core.state import Passage
from quorum.models.token_embeddings import TokenEncoder
from quorum.retrievers.colbert import TokenIndex, Vectors
from quorum.retrievers.index_cache import (
    LoadedIndexes,
    make_index_folder,
    read_passages,
    replace_index_folders,
    write_passages,
)
from quorum.retrievers.passages import make_indexed_text
from quorum.retrievers.store import Store
from quorum.retrievers.store_files import make_tree_private
from quorum.retrievers.store_locks import hold_lock

FORMAT_VERSION = "1"  # increase it when the format of the files changes: indexes of another format are rebuilt
ENCODED_AT_ONCE = 256  # passages
LOADED_INDEXES: LoadedIndexes[TokenIndex] = LoadedIndexes(most=4)


def load_token_index(store: Store, name: str, encoder: TokenEncoder, title_key: str | None = None) -> TokenIndex:
    """The token vectors of the collection `name` (see `LoadedIndexes`). It blocks: call it on a thread.

    title_key: see `quorum.retrievers.foreign.read_foreign_passage`.
    """
    info = store.fetch_revised_info(name)
    make = partial(load_or_build_index, store, name, info.revision, encoder, title_key)
    return LOADED_INDEXES.get((store.location, name, encoder.fingerprint, title_key), info, make)


def load_or_build_index(
    store: Store, name: str, revision: str, encoder: TokenEncoder, title_key: str | None
) -> tuple[str, TokenIndex]:
    """(revision, index) from disk. An index that is not there is computed and saved.

    If the collection has changed in the meantime, the returned revision is newer than the argument `revision`.
    """
    folder = make_index_folder(store, "colbert", name, encoder.fingerprint, *([title_key] if title_key else []))
    with hold_lock(FileLock(folder / "lock", mode=FILE_MODE)):
        index = load_index(folder / f"{revision}.{FORMAT_VERSION}")
        if index is None:
            revision, passages = store.fetch_passages(name, title_key)
            index = build_index(passages, encoder, find_older_index(folder), folder / f"{revision}.{FORMAT_VERSION}")
        return revision, index


def load_index(folder: Path) -> TokenIndex | None:
    """The index in a folder; None if it is missing or incomplete."""
    try:
        passages = read_passages(folder)
        vectors: Vectors = np.load(folder / "vectors.npy", mmap_mode="r")
        starts = np.load(folder / "starts.npy")
        # A power failure may have cut a file.
        is_complete = len(starts) == len(passages) + 1 and starts[-1] == len(vectors)
        return TokenIndex(passages, vectors, starts) if is_complete else None
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None


def find_older_index(folder: Path) -> TokenIndex | None:
    """An index of another revision; None if there is none."""
    return next((index for path in folder.glob(f"*.{FORMAT_VERSION}") if (index := load_index(path)) is not None), None)


def build_index(
    passages: list[Passage], encoder: TokenEncoder, older_index: TokenIndex | None, folder: Path
) -> TokenIndex:
    """Compute an index in a temporary folder, remove all other indexes of the collection, rename the temporary folder
    to `folder`, and load the index from there.
    """
    for leftover in folder.parent.glob("new-*"):  # left by a process that was killed
        shutil.rmtree(leftover)
    temporary_folder = Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
    try:
        write_index(temporary_folder, passages, encoder, older_index)
        replace_index_folders(temporary_folder, folder)
    except OSError as error:
        shutil.rmtree(temporary_folder, ignore_errors=True)
        raise SetupError(
            f"The token vectors cannot be written to {folder.parent} ({error.strerror or error}); make room on the"
            " disk, then try again."
        ) from None
    except BaseException:
        shutil.rmtree(temporary_folder, ignore_errors=True)
        raise
    index = load_index(folder)
    if index is None:
        raise SetupError(f"The index in {folder} cannot be read; remove the folder and try again.")
    return index


def write_index(
    temporary_folder: Path, passages: list[Passage], encoder: TokenEncoder, older_index: TokenIndex | None
) -> None:
    """Compute an index and write its files into a folder. The vectors are never all in memory at the same time."""
    lengths, dimension = [0], 1
    with (temporary_folder / "rows").open("wb") as rows:
        for vectors in compute_token_vectors(passages, encoder, older_index):
            lengths.append(len(vectors))
            dimension = vectors.shape[1]
            rows.write(vectors.tobytes())
    starts = np.cumsum(np.array(lengths, dtype=np.int64))
    convert_rows_to_npy(temporary_folder, int(starts[-1]), dimension)
    np.save(temporary_folder / "starts.npy", starts)
    write_passages(passages, temporary_folder)
    make_tree_private(temporary_folder)


def convert_rows_to_npy(folder: Path, count: int, dimension: int) -> None:
    """Turn the file "rows" into vectors.npy, which numpy can map into memory instead of loading it.

    The rows are copied as a file: on a full disk that raises an error, while writing to a memory map would kill the
    process.
    """
    header = {"descr": "<f2", "fortran_order": False, "shape": (count, dimension)}
    with (folder / "rows").open("rb") as rows, (folder / "vectors.npy").open("wb") as array:
        np.lib.format.write_array_header_1_0(array, header)
        shutil.copyfileobj(rows, array)
    (folder / "rows").unlink()


def compute_token_vectors(
    passages: list[Passage], encoder: TokenEncoder, older_index: TokenIndex | None
) -> Iterator[Vectors]:
    """The token vectors of each passage, in order, as an array of the shape (tokens, dimension).

    Texts that the older index contains keep their vectors.
    """
    older_number_of_text = (
        {make_indexed_text(passage): number for number, passage in enumerate(older_index.passages)}
        if older_index
        else {}
    )
    for first in range(0, len(passages), ENCODED_AT_ONCE):
        texts = [make_indexed_text(passage) for passage in passages[first : first + ENCODED_AT_ONCE]]
        new_texts = list(dict.fromkeys(text for text in texts if text not in older_number_of_text))
        computed_vectors = dict(zip(new_texts, encoder.encode_passages(new_texts) if new_texts else [], strict=True))
        for text in texts:
            if older_index is not None and text in older_number_of_text:
                number = older_number_of_text[text]
                yield older_index.vectors[older_index.starts[number] : older_index.starts[number + 1]]
            else:
                yield computed_vectors[text].astype(np.float16)
