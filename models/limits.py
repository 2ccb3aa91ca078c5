"""Limits on calls: at once per event loop, and requests and tokens in any sixty seconds per loop and model."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from core.context import Context
from models.clock import Clock
from models.loops import per_loop

MINUTE = 60.0


@dataclass
class Share:
    """A part of a minute's allowance, taken at a time; the amount is corrected once it is known."""

    time: float
    amount: float


class Minute:
    """At most `limit` in any sixty seconds, in order of asking. A single amount above the limit goes alone."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.shares: deque[Share] = deque()
        self.order = asyncio.Lock()

    async def take(self, amount: float, clock: Clock) -> Share:
        """Wait until `amount` fits, and take it."""
        async with self.order:
            while (wait := self.wait(amount, clock.now())) > 0:
                await clock.sleep(wait)
            share = Share(clock.now(), amount)
            self.shares.append(share)
            return share

    def wait(self, amount: float, now: float) -> float:
        """Seconds until enough of the last minute has passed; 0 when `amount` fits now."""
        while self.shares and self.shares[0].time + MINUTE <= now:
            self.shares.popleft()
        excess = sum(share.amount for share in self.shares) + amount - self.limit
        wait = 0.0
        for share in self.shares:
            if excess <= 0:
                break
            excess -= share.amount
            wait = share.time + MINUTE - now
        return wait


@asynccontextmanager
async def allowed(context: Context, model: str, estimate: int, clock: Clock) -> AsyncGenerator[list[Share], None]:
    """One call, when the limits allow it. Yields its token shares: set their amount to the tokens it took."""
    state = per_loop()
    shares = []
    async with state.once(("concurrency", context.concurrency), lambda: asyncio.Semaphore(context.concurrency)):
        if context.tokens_per_minute is not None:
            most = context.tokens_per_minute
            shares.append(await state.once(("tokens", model, most), lambda: Minute(most)).take(estimate, clock))
        if context.requests_per_minute is not None:
            rate = context.requests_per_minute
            await state.once(("requests", model, rate), lambda: Minute(rate)).take(1, clock)
        yield shares
