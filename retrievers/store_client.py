"""Opens a Chroma store's client and its collections: a folder, under its locks, or a server at http://host:port."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock
from langchain_core.embeddings import Embeddings

from quorum.core.errors import SetupError
from quorum.core.private_files import FILE_MODE, make_private_folder
from quorum.core.store_folder import find_own_folder, is_foreign_folder
from quorum.retrievers.chroma_client import make_folder, open_chroma_client
from quorum.retrievers.chroma_rows import list_collection_names
from quorum.retrievers.collection_filters import CollectionFilters
from quorum.retrievers.foreign import ContentRevisions, is_foreign
from quorum.retrievers.index_recovery import has_incomplete_files, write_pending_vectors
from quorum.retrievers.metadata import read_info
from quorum.retrievers.store_failures import explain_failures, make_damaged_index_error
from quorum.retrievers.store_files import check_database_lock, copy_store, is_read_only, make_read_only_error
from quorum.retrievers.store_locks import hold_access_lock, hold_writer_lock

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection


class StoreClient:
    """The client of one Chroma store, and the locks under which it is used.

    Chroma fails if one process reads a folder while another writes to it. So every operation on a folder takes the
    access lock. A server does this itself.
    """

    def __init__(self, path: str) -> None:
        self.location = path
        self.is_remote = "://" in path
        self.is_foreign = not self.is_remote and is_foreign_folder(Path(path))
        # The folder of the locks and caches. Those of a server, and of another program's database, are in the default
        # folder of this machine.
        self.folder = find_own_folder(path).resolve()
        self.chroma_folder = Path(path) if self.is_foreign else self.folder / "chroma"
        self.is_read_only = not self.is_remote and is_read_only(Path(path), self.chroma_folder)
        if self.is_read_only:
            self.folder = copy_store(Path(path), self.chroma_folder)
            self.chroma_folder = self.folder / "chroma"
        self.client: ClientAPI | None = None
        self.read_revisions: dict[str, str] = {}  # collection -> its revision when this client read it
        # (collection, name of embeddings): the collection was made with these embeddings
        self.checked_embeddings: set[tuple[str, str]] = set()
        # (another program's collection, name of the embeddings that are set) -> those that search it
        self.foreign_embeddings: dict[tuple[str, str], str | Embeddings] = {}
        self.undamaged_names: set[str] = set()  # collections whose vector index this client has found undamaged
        self.content_revisions = ContentRevisions()  # of other programs' collections
        self.filters = CollectionFilters()
        # `mutex` keeps out other threads of this process, `access_lock` other processes.
        self.mutex = threading.RLock()
        self.access_lock = FileLock(self.folder / "access.lock", mode=FILE_MODE, poll_interval=0.005)

    @property
    def is_missing(self) -> bool:
        return not self.is_remote and not self.chroma_folder.exists()

    @contextmanager
    def open_client(self) -> Iterator["ClientAPI"]:
        """Yield the client. For a folder, the lock is held until the block ends: do only one short operation in it."""
        with explain_failures(self.location):
            if self.is_remote:
                yield self.get_client()
                return
            make_folder(self.folder)
            with self.mutex, hold_access_lock(self.access_lock, self.location):
                check_database_lock(self.chroma_folder)
                yield self.get_client()

    def get_client(self) -> "ClientAPI":
        with self.mutex:
            if self.client is None:
                if not (self.is_remote or self.is_foreign):
                    make_private_folder(self.chroma_folder)
                self.client = open_chroma_client(self.location if self.is_remote else str(self.chroma_folder))
            return self.client

    def fetch_current_collection(self, name: str) -> "Collection":
        """The collection, as `fetch_undamaged_collection` returns it. If it has changed since this client read it, the
        client is opened again first. Call this only inside `open_client`.
        """
        collection = self.fetch_undamaged_collection(name)
        revision = f"{collection.id}:{collection.count()}" if is_foreign(collection) else read_info(collection).revision
        if not self.is_remote and self.read_revisions.setdefault(name, revision) != revision:
            client: Any = self.get_client()
            client.close()
            self.client, self.read_revisions, self.undamaged_names = None, {name: revision}, set()
            collection = self.fetch_undamaged_collection(name)
        return collection

    def fetch_collection(self, name: str) -> "Collection":
        from chromadb.errors import NotFoundError

        try:
            return self.get_client().get_collection(name, embedding_function=None)
        except NotFoundError:
            raise make_unknown_collection_error(name, self.location, list_collection_names(self.get_client())) from None

    def fetch_undamaged_collection(self, name: str) -> "Collection":
        """The collection. Raises `SetupError` if files of its vector index are half written or truncated.

        Vectors that a killed process left in the database are first written to the index. A store on a server is not
        checked, nor is another program's collection. Call this only inside `open_client`.
        """
        collection = self.fetch_collection(name)
        if not self.is_remote and not is_foreign(collection) and name not in self.undamaged_names:
            if has_incomplete_files(collection, self.chroma_folder):
                raise make_damaged_index_error(
                    self.location, f"the index of the collection {name!r}: its last write did not finish"
                )
            write_pending_vectors(collection, self.chroma_folder)
            self.undamaged_names.add(name)
        return collection

    @contextmanager
    def hold_writer_lock(self) -> Iterator[None]:
        """Hold the writer lock: only one process of this machine at a time may change the store. Afterwards only the
        store's owner may read its files.

        Raises `SetupError` if another process holds it for ten minutes, and for a store that cannot be written.
        """
        if self.is_read_only:
            raise make_read_only_error(self.location)
        make_folder(self.folder)
        with hold_writer_lock(self.folder, self.location):
            yield


def make_unknown_collection_error(name: str, path: str, names: list[str]) -> SetupError:
    available = f"there are: {', '.join(names[:20])}" if names else "there is none yet"
    return SetupError(
        f"There is no collection {name!r} in the store {path}; {available}. "
        f"To create it, index documents into it: quorum index PATH --collection {name}"
    )
