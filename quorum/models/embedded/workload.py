"""Whether many questions run in this process at the same time.

If so, the encoder gives each core rows of its own, because the other questions keep the other cores busy.
"""

from collections.abc import Iterator
from contextlib import contextmanager

RUNNING_BLOCKS: list[object] = []  # one item for each block of `announce_many_questions` that runs in this process


@contextmanager
def announce_many_questions() -> Iterator[None]:
    """Say that many questions are asked in this block, from any thread."""
    block = object()
    RUNNING_BLOCKS.append(block)
    try:
        yield
    finally:
        RUNNING_BLOCKS.remove(block)


def are_many_questions_expected() -> bool:
    """Whether a block of `announce_many_questions` runs."""
    return bool(RUNNING_BLOCKS)
