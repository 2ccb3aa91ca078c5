"""Delays the garbage collector, which would examine the hundreds of thousands of objects that imports create."""

import gc
from typing import Any

OBJECTS_BEFORE_COLLECTION = 1_000_000  # a short command makes about 300,000


def delay_garbage_collection() -> None:
    """Delay the first garbage collection until there are a million new objects.

    From then on the usual threshold applies, and the objects that exist by then are never examined. This saves about an
    eighth of the processor time of a first answer.
    """
    usual_threshold = gc.get_threshold()

    def restore_threshold(phase: str, info: dict[str, Any]) -> None:
        gc.callbacks.remove(restore_threshold)
        gc.freeze()
        gc.set_threshold(*usual_threshold)

    gc.callbacks.append(restore_threshold)
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION, *usual_threshold[1:])
