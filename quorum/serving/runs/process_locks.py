"""Tells whether the process of a server still lives: as long as it does, it holds a lock in the folder of its files."""

import threading
from pathlib import Path
from secrets import token_hex

from filelock import FileLock, Timeout

from quorum.core.private_files import FILE_MODE, make_private_folder


class ProcessLocks:
    """The locks in a folder. own_id: the id of this process."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.own_id = folder, token_hex(8)
        self.lock = threading.Lock()
        self.own_lock: FileLock | None = None

    def hold_own(self) -> None:
        """Take the lock of this process, which says that what it has begun is in progress. Raises OSError."""
        with self.lock:
            if self.own_lock is None:
                make_private_folder(self.folder)
                lock = FileLock(self.get_path(self.own_id), mode=FILE_MODE, thread_local=False)
                lock.acquire(timeout=0)
                self.own_lock = lock

    def get_path(self, process_id: str) -> Path:
        return self.folder / f"server-{process_id}.lock"

    def is_alive(self, process_id: str) -> bool:
        """Whether another process with this id still holds its lock. The lock of a dead process is removed."""
        if not process_id.isalnum() or process_id == self.own_id:
            return False
        path = self.get_path(process_id)
        if not path.is_file():
            return False
        lock = FileLock(path, mode=FILE_MODE)
        try:
            lock.acquire(timeout=0)
        except (Timeout, OSError):
            return True
        lock.release()
        path.unlink(missing_ok=True)
        return False
