"""The BM25 index of a collection: built from its passages, kept in memory and on the local disk until they change."""

import json
import logging
import shutil
import tempfile
import threading
from collections import OrderedDict
from hashlib import sha256
from pathlib import Path

from filelock import FileLock

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.retrievers.bm25 import Ranking
from quorum.retrievers.store import Store

FORMAT = "1"  # increase it when tokens, parameters or files change: indexes of another format are rebuilt
IN_MEMORY = 8
LOG = logging.getLogger("quorum")
held: OrderedDict[tuple[str, str], tuple[str, Ranking]] = OrderedDict()
loading = threading.Lock()


def ranking(store: Store, name: str) -> Ranking:
    """The collection's BM25 index as of its present revision. Blocks: call it on a thread."""
    info = store.info(name)
    key = (store.where, name)
    with loading:
        revision, found = held.get(key, ("", None))
        if found is None or revision != info.revision:
            revision, found = made(store, name) if info.writing else kept(store, name, info.revision)
            held[key] = (revision, found)
        held.move_to_end(key)
        while len(held) > IN_MEMORY:
            held.popitem(last=False)
    return found


def made(store: Store, name: str) -> tuple[str, Ranking]:
    """(revision, index) built from the collection's passages."""
    revision, passages = store.passages(name)
    return revision, Ranking(passages)


def kept(store: Store, name: str, revision: str) -> tuple[str, Ranking]:
    """(revision, index) from disk; if absent, it is built and saved."""
    place = sha256(f"{store.where}\n{name}".encode()).hexdigest()[:8]
    folder = store.folder / "bm25" / f"{name[:80]}-{place}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(f"The folder {folder} cannot be made ({error.strerror}); give another store.") from None
    with FileLock(folder / "lock"):
        found = load(folder / f"{revision}.{FORMAT}")
        if found is not None:
            return revision, found
        revision, found = made(store, name)
        save(found, folder / f"{revision}.{FORMAT}")
        return revision, found


def load(folder: Path) -> Ranking | None:
    """The index in a folder; None if it is missing or incomplete."""
    import bm25s

    try:
        lines = (folder / "passages.jsonl").read_text(encoding="utf-8").splitlines()
        passages: list[Passage] = [json.loads(line) for line in lines]
        index = bm25s.BM25.load(folder / "index", load_corpus=False, backend="numpy")
        whole = index.scores["num_docs"] == len(passages)  # a loss of power may have cut either file
        return Ranking(passages, index) if whole else None
    except (OSError, ValueError, KeyError, TypeError, EOFError):
        return None


def save(index: Ranking, folder: Path) -> None:
    """Write an index to a temporary place, swap it in, and remove indexes of other revisions. If that fails (the disk
    is full), the index stays only in memory, and the next process rebuilds it.
    """
    if index.index is None:
        return
    try:
        temporary = Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
        lines = [json.dumps(passage) for passage in index.passages]
        (temporary / "passages.jsonl").write_text("\n".join(lines), encoding="utf-8")
        index.index.save(temporary / "index", show_progress=False)
        for other in folder.parent.iterdir():
            if other.is_dir() and other != temporary:
                shutil.rmtree(other)
        temporary.rename(folder)
    except OSError as error:
        LOG.warning("The index of words cannot be kept in %s (%s); it is built again each time.", folder.parent, error)
        for left in folder.parent.glob("new-*"):
            shutil.rmtree(left, ignore_errors=True)
