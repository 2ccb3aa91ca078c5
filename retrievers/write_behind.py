"""Writes on a thread, one write at a time and in order, while the caller computes the next one."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class WriteBehind:
    """Runs writes on a thread, at most one at a time. The next call raises the error of a write that failed."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="quorum-write")
        self.last_write: Future[None] | None = None

    def start(self, write: Callable[[], None]) -> None:
        """Wait until the previous write has ended, then start this one on the thread."""
        self.wait()
        self.last_write = self.thread.submit(write)

    def wait(self) -> None:
        """Wait for the write under way."""
        if self.last_write is not None:
            self.last_write.result()
            self.last_write = None

    def close(self) -> None:
        """Wait for the write under way, whether it succeeds or not."""
        self.thread.shutdown()
