"""Time and random numbers for retries and limits. They are an argument, so that tests need no waiting or patching."""

import asyncio
import random
import time


class Clock:
    """The real one."""

    def now(self) -> float:
        """Seconds, never going back."""
        return time.monotonic()

    def date(self) -> float:
        """Seconds since 1970, for comparison with dates a server sends."""
        return time.time()

    def share(self) -> float:
        """A random number in 0..1 (jitter)."""
        return random.random()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


REAL_CLOCK = Clock()
