"""Delays the garbage collector, which would examine the hundreds of thousands of objects that imports create."""

import gc
from typing import Any

OBJECTS_BEFORE_COLLECTION = 1_000_000  # a short command makes about 300,000


def delay_garbage_collection() -> None:
    """Collect garbage only after a million new objects, and never examine the objects created before.

    This saves about an eighth of the processor time of a first answer.
    """
    usual_threshold = gc.get_threshold()

    def restore_threshold(phase: str, info: dict[str, Any]) -> None:
        gc.callbacks.remove(restore_threshold)
        gc.freeze()
        gc.set_threshold(*usual_threshold)

    gc.callbacks.append(restore_threshold)
    gc.set_threshold(OBJECTS_BEFORE_COLLECTION, *usual_threshold[1:])
