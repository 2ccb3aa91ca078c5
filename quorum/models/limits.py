"""Limits on calls: at once per event loop, and requests and tokens in any sixty seconds per loop and model."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from quorum.core.context import Context
from quorum.models.clock import Clock
from quorum.models.loops import per_loop

MINUTE = 60.0


@dataclass
class Share:
    """A part of a minute's allowance, taken at a time; the amount is corrected once it is known."""

    time: float
    amount: float

    def correct(self, amount: float) -> None:
        self.amount = amount


class Correctable(Protocol):
    """What was taken of an allowance, here or in another process."""

    def correct(self, amount: float) -> None: ...


class Allowance(Protocol):
    """What is shared out in order of asking: a `Minute` of this loop, or one that several processes share."""

    async def take(self, amount: float, clock: Clock) -> Correctable: ...


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


Maker = Callable[[str, str, float], Allowance]


@asynccontextmanager
async def allowed(context: Context, model: str, estimate: int, clock: Clock) -> AsyncGenerator[list[Correctable], None]:
    """One call, when the limits allow it. Yields its token shares: correct them to the tokens it took."""
    state = per_loop()
    shares: list[Correctable] = []
    async with state.once(("concurrency", context.concurrency), lambda: asyncio.Semaphore(context.concurrency)):
        if context.tokens_per_minute is not None:
            shares.append(await allowance("tokens", model, context.tokens_per_minute).take(estimate, clock))
        if context.requests_per_minute is not None:
            await allowance("requests", model, context.requests_per_minute).take(1, clock)
        yield shares


def allowance(kind: str, model: str, limit: float) -> Allowance:
    """What a model allows in a minute: of this loop alone, unless `share_allowances` was given another maker."""
    state = per_loop()
    make: Maker = state.once("allowances", lambda: lambda kind, model, limit: Minute(limit))
    return state.once((kind, model, limit), lambda: make(kind, model, limit))


def share_allowances(make: Maker) -> None:
    """From now on the running loop takes from what `make(kind, model, limit)` gives: for work in several processes."""
    per_loop().made["allowances"] = make
