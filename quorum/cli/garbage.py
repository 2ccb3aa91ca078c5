"""Delays the garbage collector, which would look through the hundreds of thousands of objects of imports."""

import gc
from typing import Any

OBJECTS = 1_000_000  # a short command makes about 300,000


def delay_garbage_collection() -> None:
    """Begin to collect garbage after a million new objects, and leave out what is there by then.

    A first answer takes about an eighth less processor time so.
    """
    usual = gc.get_threshold()

    def begin(phase: str, info: dict[str, Any]) -> None:
        gc.callbacks.remove(begin)
        gc.freeze()
        gc.set_threshold(*usual)

    gc.callbacks.append(begin)
    gc.set_threshold(OBJECTS, *usual[1:])
