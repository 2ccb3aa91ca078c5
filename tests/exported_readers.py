"""Readers that tests train and export on a tiny encoder."""

from collections.abc import Callable
from pathlib import Path

LOW_LAYERS = 2
GetExport = Callable[[int], Path]


def list_options(**options: object) -> list[str]:
    """The options as a command line has them."""
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]
