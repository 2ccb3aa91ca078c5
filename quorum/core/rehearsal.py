"""Whether the run is a rehearsal: the embedded reader, or no model at all, takes the place of the paid model."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

IS_REHEARSAL: ContextVar[bool] = ContextVar("REHEARSING", default=False)


@contextmanager
def rehearsal() -> Iterator[None]:
    """Methods that are composed take the context's model as it is, not the one that they were measured with."""
    token = IS_REHEARSAL.set(True)
    try:
        yield
    finally:
        IS_REHEARSAL.reset(token)
