"""Writes on a thread, one write at a time and in order, while the caller computes what to write next."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class WriteBehind:
    """Runs writes on a thread, at most one at a time.

    If a write fails, every later call of `start` or `wait` raises its error. `close` raises none.
    """

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="quorum-write")
        self.last_write: Future[None] | None = None

    def start(self, write: Callable[[], None]) -> None:
        """Wait until the previous write has ended, then start `write` on the thread."""
        self.wait()
        self.last_write = self.thread.submit(write)

    def wait(self) -> None:
        """Wait until the current write has ended, and raise its error if it failed."""
        if self.last_write is not None:
            self.last_write.result()
            self.last_write = None

    def close(self) -> None:
        """Wait until the current write has ended, without raising its error, and end the thread."""
        self.thread.shutdown()
