"""The types of the fixture `quorum`, which runs a command line in the process of the test."""

from collections.abc import Callable
from typing import NamedTuple


class CommandOutcome(NamedTuple):
    """A command's exit code and its output."""

    code: int
    out: str
    err: str


Quorum = Callable[..., CommandOutcome]
