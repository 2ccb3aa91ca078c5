"""Limits calls: concurrent calls per event loop, requests and tokens per minute for each loop and model."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from quorum.core.context import Context
from quorum.models.clock import Clock
from quorum.models.loops import get_loop_cache
from quorum.models.slots import Slots

MINUTE = 60.0


@dataclass
class TakenAmount:
    """An amount taken from a rate limit at some time; corrected once the true amount is known."""

    time: float
    amount: float

    def correct(self, amount: float) -> None:
        self.amount = amount


class CorrectableAmount(Protocol):
    """An amount taken from a rate limit, in this process or another."""

    def correct(self, amount: float) -> None: ...


class RateLimit(Protocol):
    """A limit that serves its callers in order: a `LocalRateLimit`, or one that several processes share."""

    async def take(self, amount: float, clock: Clock) -> CorrectableAmount: ...


class LocalRateLimit:
    """At most `limit` in any sixty seconds, in the order of the callers.

    An amount larger than `limit` waits until nothing has been taken for sixty seconds.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.taken: deque[TakenAmount] = deque()
        self.order = asyncio.Lock()

    async def take(self, amount: float, clock: Clock) -> TakenAmount:
        """Wait until `amount` fits, and take it."""
        async with self.order:
            while (wait := self.compute_wait(amount, clock.now())) > 0:
                await clock.sleep(wait)
            taken_amount = TakenAmount(clock.now(), amount)
            self.taken.append(taken_amount)
            return taken_amount

    def compute_wait(self, amount: float, now: float) -> float:
        """Seconds until enough of the amounts taken are a minute old; 0 when `amount` fits now."""
        while self.taken and self.taken[0].time + MINUTE <= now:
            self.taken.popleft()
        excess = sum(taken_amount.amount for taken_amount in self.taken) + amount - self.limit
        wait = 0.0
        for taken_amount in self.taken:
            if excess <= 0:
                break
            excess -= taken_amount.amount
            wait = taken_amount.time + MINUTE - now
        return wait


RateLimitMaker = Callable[[str, str, float], RateLimit]


@asynccontextmanager
async def wait_for_limits(
    context: Context, model: str, estimate: int, clock: Clock
) -> AsyncGenerator[list[CorrectableAmount], None]:
    """Wait until the limits allow one call. Yields the token amounts taken for it, to correct with the real number."""
    loop_cache = get_loop_cache()
    taken_amounts: list[CorrectableAmount] = []
    async with loop_cache.get_or_make(("concurrency", context.concurrency), lambda: Slots(context.concurrency)):
        if context.tokens_per_minute is not None:
            taken_amounts.append(await get_rate_limit("tokens", model, context.tokens_per_minute).take(estimate, clock))
        if context.requests_per_minute is not None:
            await get_rate_limit("requests", model, context.requests_per_minute).take(1, clock)
        yield taken_amounts


def get_rate_limit(kind: str, model: str, limit: float) -> RateLimit:
    """A model's limit per minute: this loop's own, unless `share_rate_limits` has set another maker."""
    loop_cache = get_loop_cache()
    make: RateLimitMaker = loop_cache.get_or_make(
        "rate limits", lambda: lambda kind, model, limit: LocalRateLimit(limit)
    )
    return loop_cache.get_or_make((kind, model, limit), lambda: make(kind, model, limit))


def share_rate_limits(make: RateLimitMaker) -> None:
    """Make the running loop get its rate limits from `make(kind, model, limit)`, for work in several processes."""
    get_loop_cache().entries["rate limits"] = make
