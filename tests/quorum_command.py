"""The `quorum` command as tests run it: in this process, with what it left behind."""

from collections.abc import Callable
from typing import NamedTuple


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Quorum = Callable[..., Ran]
