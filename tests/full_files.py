"""A limit on the size of every file that this process writes, which stands for a disk that is full."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def limit_file_sizes(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond `size` bytes within the `with` block: writes beyond fail with EFBIG."""
    resource = pytest.importorskip("resource")
    earlier_limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    earlier_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # else the first write over the limit kills us
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, earlier_limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, earlier_limits)
        signal.signal(signal.SIGXFSZ, earlier_handler)
