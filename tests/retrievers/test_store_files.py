"""Only the owner of a store may read its files; one that cannot be written is read from a copy; locks are told of."""

import os
import shutil
import sqlite3
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from wordvectors import WordVectors

from quorum.core.errors import SetupError
from quorum.models.journal_database import Record, open_database, open_read_only, read_records, write_records
from quorum.retrievers.index import index_documents
from quorum.retrievers.store import Store, open_store
from quorum.retrievers.store_files import check_database_lock, is_read_only
from quorum.retrievers.store_locks import acquire

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
NOBODY = 65534
RECORD = Record("1889", "stop", 1, 1, 0, 0.1)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A store with one passage, made with a umask that lets everybody read new files, in a folder that others reach."""
    (tmp_path / "a.txt").write_text("The tower was built in 1889.")
    with tempfile.TemporaryDirectory() as reachable_folder:
        Path(reachable_folder).chmod(0o755)
        store = Path(reachable_folder, "store")
        old_umask = os.umask(0o022)
        try:
            index_documents([tmp_path / "a.txt"], collection="towers", store=store, embeddings=WordVectors())
        finally:
            os.umask(old_umask)
        yield store


@contextmanager
def become_somebody_else() -> Iterator[None]:
    """Lose the rights of root, if the tests have them."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def set_modes(folder: Path, folder_mode: int, file_mode: int) -> Iterator[None]:
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(folder_mode if path.is_dir() else file_mode)
    yield
    for path in paths:
        path.chmod(0o700 if path.is_dir() else 0o600)


def list_modes(folder: Path) -> set[tuple[bool, int]]:
    return {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in [folder, *folder.rglob("*")]}


def test_all_files_of_a_store_are_private(folder: Path) -> None:
    assert list_modes(folder) == {(True, 0o700), (False, 0o600)}


def test_an_older_store_becomes_private_when_it_is_written(folder: Path, tmp_path: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    (tmp_path / "b.txt").write_text("The bridge was built in 1890.")
    index_documents([tmp_path / "b.txt"], collection="towers", store=folder, embeddings=WordVectors())
    assert list_modes(folder) == {(True, 0o700), (False, 0o600)}


def test_other_files_beside_a_store_keep_their_modes(folder: Path, tmp_path: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    (folder / "notes.txt").chmod(0o644)
    folder.chmod(0o755)
    with Store(str(folder)).hold_writer_lock():
        pass
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "notes.txt")] == [0o755, 0o644]


def test_a_read_only_store_is_read_and_not_changed(folder: Path) -> None:
    with set_modes(folder, 0o555, 0o444):
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
        with become_somebody_else():
            store = Store(str(folder))
        assert store.list_collections() == ["towers"]
        assert [item["text"] for item in store.fetch_passages("towers")[1]] == ["The tower was built in 1889."]
        with pytest.raises(SetupError, match="cannot be written"), store.hold_writer_lock():
            pass
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    assert not is_read_only(folder, folder / "chroma")


def test_a_store_of_another_user_is_refused_in_one_sentence(folder: Path) -> None:
    with set_modes(folder, 0o000, 0o000), become_somebody_else(), pytest.raises(SetupError, match="another user"):
        Store(str(folder))


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_locked_database_is_told(lock: str, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "chroma" / "chroma.sqlite3", isolation_level=None)) as other_program:
        other_program.execute(f"BEGIN {lock}")
        with pytest.raises(SetupError, match="Another program keeps the database"):
            check_database_lock(folder / "chroma", seconds=0.0)
    check_database_lock(folder / "chroma", seconds=0.0)


def test_a_lock_that_another_user_has_made_is_told(folder: Path) -> None:
    (folder / "access.lock").chmod(0o000)
    with become_somebody_else(), pytest.raises(SetupError, match=r"access\.lock cannot be used \(Permission denied\)"):
        acquire(FileLock(folder / "access.lock", mode=0o600))


def test_threads_that_open_a_store_at_once_share_its_copy(folder: Path) -> None:
    folder = shutil.copytree(folder, folder.parent / "another")  # of which this process has no store yet
    start = threading.Barrier(8)
    stores: list[Store] = []

    def open_it() -> None:
        start.wait()
        stores.append(open_store(folder))

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    with set_modes(folder, 0o555, 0o444), become_somebody_else():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(stores) == 8
    assert len({id(store) for store in stores}) == 1


def test_a_read_only_journal_is_read(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with closing(open_database(str(path))) as journal:
        write_records(journal, [("a", RECORD)])
    with closing(open_read_only(str(path))) as journal:
        assert read_records(journal, ["a", "b"]) == [RECORD, None]
    with closing(open_read_only(str(tmp_path / "missing.sqlite"))) as journal:
        assert read_records(journal, ["a"]) == [None]
