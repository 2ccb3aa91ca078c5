"""The token vectors of a collection: computed from its passages, kept on the local disk until they change.

A passage whose title and text are unchanged since the previous revision keeps its vectors: only new ones are computed.
"""

import json
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
from filelock import FileLock

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.models.token_embeddings import TokenEncoder
from quorum.retrievers.colbert import TokenIndex, Vectors
from quorum.retrievers.passages import indexed_text
from quorum.retrievers.store import Store

FORMAT = "1"  # increase it when the files change: indexes of another format are rebuilt
IN_MEMORY = 4
ENCODED_AT_ONCE = 256
held: OrderedDict[tuple[str, str, str], tuple[str, TokenIndex]] = OrderedDict()
loading = threading.Lock()


def token_index(store: Store, name: str, encoder: TokenEncoder) -> TokenIndex:
    """The collection's token vectors as of its present revision. Blocks: call it on a thread."""
    info = store.info(name)
    key = (store.where, name, encoder.fingerprint)
    with loading:
        revision, found = held.get(key, ("", None))
        if found is None or revision != info.revision:
            revision, found = kept(store, name, info.revision, encoder)
            held[key] = (revision, found)
        held.move_to_end(key)
        while len(held) > IN_MEMORY:
            held.popitem(last=False)
    return found


def kept(store: Store, name: str, revision: str, encoder: TokenEncoder) -> tuple[str, TokenIndex]:
    """(revision, index) from disk; if absent, it is computed and saved."""
    place = sha256(f"{store.where}\n{name}\n{encoder.fingerprint}".encode()).hexdigest()[:8]
    folder = store.folder / "colbert" / f"{name[:80]}-{place}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(f"The folder {folder} cannot be made ({error.strerror}); give another store.") from None
    with FileLock(folder / "lock"):
        found = load(folder / f"{revision}.{FORMAT}")
        if found is None:
            revision, passages = store.passages(name)
            found = made(passages, encoder, before(folder), folder / f"{revision}.{FORMAT}")
        return revision, found


def load(folder: Path) -> TokenIndex | None:
    """The index in a folder; None if it is missing or incomplete."""
    try:
        lines = (folder / "passages.jsonl").read_text(encoding="utf-8").splitlines()
        passages: list[Passage] = [json.loads(line) for line in lines]
        vectors: Vectors = np.load(folder / "vectors.npy", mmap_mode="r")
        starts = np.load(folder / "starts.npy")
        whole = len(starts) == len(passages) + 1 and starts[-1] == len(vectors)  # a loss of power may have cut any file
        return TokenIndex(passages, vectors, starts) if whole else None
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None


def before(folder: Path) -> TokenIndex | None:
    """An index of another revision, if there is one."""
    return next((found for path in folder.glob(f"*.{FORMAT}") if (found := load(path)) is not None), None)


def made(passages: list[Passage], encoder: TokenEncoder, old: TokenIndex | None, folder: Path) -> TokenIndex:
    """Compute an index in a temporary place, swap it in, load it, and remove indexes of other revisions."""
    for left in folder.parent.glob("new-*"):  # left by a process that was killed
        shutil.rmtree(left)
    temporary = Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
    try:
        write(temporary, passages, encoder, old)
        for other in folder.parent.iterdir():
            if other.is_dir() and other != temporary:
                shutil.rmtree(other)
        temporary.rename(folder)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise SetupError(
            f"The vectors of words cannot be written to {folder.parent} ({error.strerror or error}); make room, then"
            " run the same again."
        ) from None
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    found = load(folder)
    if found is None:
        raise SetupError(f"The index in {folder} cannot be read; remove the folder and try again.")
    return found


def write(temporary: Path, passages: list[Passage], encoder: TokenEncoder, old: TokenIndex | None) -> None:
    """Compute the files of an index, without holding its vectors in memory."""
    lengths, dimension = [0], 1
    with (temporary / "rows").open("wb") as rows:
        for vectors in token_vectors(passages, encoder, old):
            lengths.append(len(vectors))
            dimension = vectors.shape[1]
            rows.write(vectors.tobytes())
    starts = np.cumsum(np.array(lengths, dtype=np.int64))
    settle(temporary, int(starts[-1]), dimension)
    np.save(temporary / "starts.npy", starts)
    lines = [json.dumps(passage) for passage in passages]
    (temporary / "passages.jsonl").write_text("\n".join(lines), encoding="utf-8")


def settle(folder: Path, count: int, dimension: int) -> None:
    """Turn the rows written one after another into an array that is read without loading it into memory. Copies it as a
    file: a full disk raises an error there, but kills a process that writes to a mapped file.
    """
    head = {"descr": "<f2", "fortran_order": False, "shape": (count, dimension)}
    with (folder / "rows").open("rb") as rows, (folder / "vectors.npy").open("wb") as array:
        np.lib.format.write_array_header_1_0(array, head)
        shutil.copyfileobj(rows, array)
    (folder / "rows").unlink()


def token_vectors(passages: list[Passage], encoder: TokenEncoder, old: TokenIndex | None) -> Iterator[Vectors]:
    """(tokens, dimension) of each passage, in order; those of the old index are taken from there."""
    known = {indexed_text(passage): row for row, passage in enumerate(old.passages)} if old else {}
    for first in range(0, len(passages), ENCODED_AT_ONCE):
        texts = [indexed_text(passage) for passage in passages[first : first + ENCODED_AT_ONCE]]
        new = list(dict.fromkeys(text for text in texts if text not in known))
        computed = dict(zip(new, encoder.passages(new) if new else [], strict=True))
        for text in texts:
            if old is not None and text in known:
                yield old.vectors[old.starts[known[text]] : old.starts[known[text] + 1]]
            else:
                yield computed[text].astype(np.float16)
