"""The locks that the processes of a machine take to use a store's folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from quorum.core.errors import SetupError
from quorum.core.private_files import FILE_MODE
from quorum.retrievers.store_files import make_store_private

ACCESS_SECONDS = 45.0  # how long a process waits for one operation of another one
WRITER_WAIT_SECONDS = 600.0  # how long a process waits for another one that is changing the store


def acquire(lock: FileLock, seconds: float = -1) -> None:
    """Take a lock, after waiting for at most `seconds` seconds (-1: without end). Raises `Timeout`, and `SetupError` if
    the lock's file cannot be opened, for example because a command that ran as root has made it.
    """
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise
    except NotImplementedError:
        raise SetupError(
            f"The file system of {lock.lock_file} has no locks; give a folder on a local disk with --store."
        ) from None
    except OSError as error:
        raise SetupError(
            f"The file {lock.lock_file} cannot be used ({error.strerror or error}); remove it, make it yours (another "
            "user may have made it), or give another folder with --store."
        ) from None


@contextmanager
def hold_lock(lock: FileLock) -> Iterator[None]:
    """Hold a lock, however long another process has it."""
    acquire(lock)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def hold_access_lock(lock: FileLock, location: str, seconds: float = ACCESS_SECONDS) -> Iterator[None]:
    """Hold the lock under which one process at a time uses the folder. Raises `SetupError` after `seconds` seconds."""
    try:
        acquire(lock, seconds)
    except Timeout:
        raise SetupError(
            f"Another process has been using the store {location} for {seconds:.0f} seconds without a pause; end that "
            "process if it hangs, then try again."
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def hold_writer_lock(folder: Path, location: str) -> Iterator[None]:
    """Hold the lock of a process that changes the store, then make all files of the store private.

    Waits for another process that holds it. Raises `SetupError` after WRITER_WAIT_SECONDS.
    """
    lock = FileLock(folder / "writer.lock", mode=FILE_MODE, poll_interval=0.05)
    try:
        acquire(lock, WRITER_WAIT_SECONDS)
    except Timeout:
        raise SetupError(f"Another process is changing the store {location}; run this again when it is done.") from None
    try:
        yield
    finally:
        make_store_private(folder)
        lock.release()
