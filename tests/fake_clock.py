"""A clock on which sleeping takes no time: it only advances the clock."""

import asyncio
from collections.abc import Callable

from quorum.models.clock import Clock


class FakeClock(Clock):
    """slept: the seconds of every sleep; luck: the random share of the jitter, 1 for the longest wait; on_sleep: a
    callback after each sleep.
    """

    def __init__(self, luck: float = 1.0) -> None:
        self.time = 1000.0
        self.luck = luck
        self.slept: list[float] = []
        self.on_sleep: Callable[[], None] = lambda: None

    def now(self) -> float:
        return self.time

    def date(self) -> float:
        return 1_800_000_000.0 + self.time

    def share(self) -> float:
        return self.luck

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        self.on_sleep()
        await asyncio.sleep(0)
