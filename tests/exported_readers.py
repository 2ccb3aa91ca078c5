"""For tests that train a reader from a tiny encoder and export it: the number of its layers with low-rank updates, the
type of the fixture `get_export`, and options of the commands.
"""

from pathlib import Path
from typing import Protocol

# How many of the reader's lowest layers reuse the sentence encoder's weights and add only low-rank updates to them.
LOW_RANK_LAYER_COUNT = 2


class GetExport(Protocol):
    """Gives the folder of an export whose weights are integers from -levels to levels (0: float weights)."""

    def __call__(self, levels: int) -> Path: ...


def list_options(**options: object) -> list[str]:
    """The options as a command line has them."""
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]
