"""Writes on a thread, one write at a time and in order, while the caller computes the next one."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class WriteBehind:
    """At most one write is under way. An error of a write is raised by the next call."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="quorum-write")
        self.last: Future[None] | None = None

    def start(self, write: Callable[[], None]) -> None:
        """Begin to write when the previous write has ended."""
        self.wait()
        self.last = self.thread.submit(write)

    def wait(self) -> None:
        """Wait for the write under way."""
        if self.last is not None:
            self.last.result()
            self.last = None

    def close(self) -> None:
        """Wait for the write under way, whether it succeeds or not."""
        self.thread.shutdown()
