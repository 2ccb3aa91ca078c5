"""Marks rehearsals: runs in which the embedded reader, or no model at all, takes the place of a paid model."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

IS_REHEARSAL: ContextVar[bool] = ContextVar("IS_REHEARSAL", default=False)


@contextmanager
def mark_rehearsal() -> Iterator[None]:
    """Mark the runs in this block as rehearsals.

    A stage of a cascade then uses the context's model, not the model that the cascade's file names, and a system of the
    user's own is not asked.
    """
    token = IS_REHEARSAL.set(True)
    try:
        yield
    finally:
        IS_REHEARSAL.reset(token)
