"""Time and random numbers for retries and limits. Callers pass a `Clock`, so that tests need no waiting or patching."""

import asyncio
import random
import time


class Clock:
    """The machine's own clock and random numbers."""

    def now(self) -> float:
        """Seconds from some fixed moment; they never go back."""
        return time.monotonic()

    def unix_time(self) -> float:
        """Seconds since 1970, to compare with dates that a server sends."""
        return time.time()

    def draw_jitter(self) -> float:
        """A random number between 0 and 1, to spread retries over time."""
        return random.random()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


REAL_CLOCK = Clock()
