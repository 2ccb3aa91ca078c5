"""For tests that train a reader from a tiny encoder and export it: the number of the reader's layers with low-rank
updates, the type of the fixture `get_export`, and a function that writes options as words of a command line.
"""

from pathlib import Path
from typing import Protocol

# How many of the reader's lowest layers reuse the sentence encoder's weights and add only low-rank updates to them.
LOW_RANK_LAYER_COUNT = 2


class GetExport(Protocol):
    """A function that exports a reader and returns the folder of the export.

    weight_limit: the reader's weights are integers from -weight_limit to weight_limit; 0: they are floats.
    """

    def __call__(self, weight_limit: int) -> Path: ...


def list_options(**options: object) -> list[str]:
    """The options as words of a command line: `list_options(weight_limit=2)` gives ["--weight-limit", "2"]."""
    return [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
