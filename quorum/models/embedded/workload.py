"""Whether this process asks many questions at a time, so that other questions keep its cores busy."""

from collections.abc import Iterator
from contextlib import contextmanager

RUNNING_BLOCKS: list[object] = []  # one item for each block of `expect_many_questions` that runs in this process


@contextmanager
def expect_many_questions() -> Iterator[None]:
    """Say that many questions are asked in this block, from any thread."""
    block = object()
    RUNNING_BLOCKS.append(block)
    try:
        yield
    finally:
        RUNNING_BLOCKS.remove(block)


def are_many_questions_expected() -> bool:
    """Whether a block of `expect_many_questions` runs."""
    return bool(RUNNING_BLOCKS)
