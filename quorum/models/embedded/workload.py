"""Whether many questions run in this process at the same time.

If so, the encoder splits a batch of texts: each core computes some of the rows alone. If all cores computed them
together, a core would wait for those that are busy with other questions.
"""

from collections.abc import Iterator
from contextlib import contextmanager

RUNNING_BLOCKS: list[object] = []  # one item for each block of `expect_many_questions` that runs in this process


@contextmanager
def expect_many_questions() -> Iterator[None]:
    """Tell the whole process, all its threads, that many questions are asked while this block runs."""
    block = object()
    RUNNING_BLOCKS.append(block)
    try:
        yield
    finally:
        RUNNING_BLOCKS.remove(block)


def are_many_questions_expected() -> bool:
    """Whether a block of `expect_many_questions` runs."""
    return bool(RUNNING_BLOCKS)
