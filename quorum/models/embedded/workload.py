"""Whether many questions run in this process at the same time.

If so, the encoder splits each batch of texts among the cores, and each core computes its texts alone. If all cores
computed every text together, each of them would wait for the cores that are busy with other questions.
"""

from collections.abc import Iterator
from contextlib import contextmanager

RUNNING_BLOCKS: list[object] = []  # one item for each block of `expect_many_questions` that runs in this process


@contextmanager
def expect_many_questions() -> Iterator[None]:
    """Tell all threads of this process that many questions are asked while the `with` block runs."""
    block = object()
    RUNNING_BLOCKS.append(block)
    try:
        yield
    finally:
        RUNNING_BLOCKS.remove(block)


def are_many_questions_expected() -> bool:
    """Whether a block of `expect_many_questions` runs."""
    return bool(RUNNING_BLOCKS)
