"""A clock on which sleeping takes no time: it only advances the clock."""

import asyncio
from collections.abc import Callable

from quorum.models.clock import Clock


class FakeClock(Clock):
    """A clock whose sleeps take no time.

    slept: the seconds of every sleep so far. jitter: what `draw_jitter` returns; 1 gives the longest wait. on_sleep:
    called at each sleep, after the clock has advanced.
    """

    def __init__(self, jitter: float = 1.0) -> None:
        self.time = 1000.0
        self.jitter = jitter
        self.slept: list[float] = []
        self.on_sleep: Callable[[], None] = lambda: None

    def now(self) -> float:
        return self.time

    def unix_time(self) -> float:
        return 1_800_000_000.0 + self.time

    def draw_jitter(self) -> float:
        return self.jitter

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        self.on_sleep()
        await asyncio.sleep(0)
