"""Limits the calls of models: how many run at once, and each model's requests and tokens per minute.

All limits hold for one event loop. Only `share_rate_limits` makes several processes share the limits per minute.
"""

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
    """An amount (tokens or requests) taken from a rate limit, and the time when it was taken. `correct` replaces an
    estimate by the true amount.
    """

    time: float
    amount: float

    def correct(self, amount: float) -> None:
        self.amount = amount


class CorrectableAmount(Protocol):
    """An amount taken from a rate limit that this process or another one keeps. `correct` replaces an estimate by the
    true amount.
    """

    def correct(self, amount: float) -> None: ...


class RateLimit(Protocol):
    """A limit per minute, of a model's tokens or requests: a `LocalRateLimit`, or a limit that processes share.

    take: waits until the limit allows `amount`, and counts it; callers are served in the order in which they call.
    """

    async def take(self, amount: float, clock: Clock) -> CorrectableAmount: ...


class LocalRateLimit:
    """Lets its callers take together at most `limit` tokens or requests in any sixty seconds, in the order in which
    they call.

    A caller that wants more than `limit` waits until nothing has been taken for sixty seconds, and then takes it all.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.taken_amounts: deque[TakenAmount] = deque()
        self.turn_lock = asyncio.Lock()  # one caller waits for the limit, the others for this lock

    async def take(self, amount: float, clock: Clock) -> TakenAmount:
        """Wait until `amount` fits, and take it."""
        async with self.turn_lock:
            while (wait := self.compute_wait(amount, clock.now())) > 0:
                await clock.sleep(wait)
            taken_amount = TakenAmount(clock.now(), amount)
            self.taken_amounts.append(taken_amount)
            return taken_amount

    def compute_wait(self, amount: float, now: float) -> float:
        """Seconds until so many of the taken amounts are a minute old that `amount` fits; 0 if it fits now."""
        while self.taken_amounts and self.taken_amounts[0].time + MINUTE <= now:
            self.taken_amounts.popleft()
        excess = sum(taken_amount.amount for taken_amount in self.taken_amounts) + amount - self.limit
        wait = 0.0
        for taken_amount in self.taken_amounts:
            if excess <= 0:
                break
            excess -= taken_amount.amount
            wait = taken_amount.time + MINUTE - now
        return wait


RateLimitMaker = Callable[[str, str, float], RateLimit]  # (kind, model, limit) as in `get_rate_limit`


@asynccontextmanager
async def wait_for_limits(
    context: Context, model: str, estimate: int, clock: Clock
) -> AsyncGenerator[list[CorrectableAmount], None]:
    """Wait until the limits allow one call. The call takes place inside the `async with` block.

    estimate: the tokens of the call, estimated. Yields what was taken from the limit on tokens (nothing if there is no
    such limit): the caller corrects it to the number of tokens that the call really used.
    """
    loop_cache = get_loop_cache()
    taken_amounts: list[CorrectableAmount] = []
    async with loop_cache.get_or_make(("concurrency", context.concurrency), lambda: Slots(context.concurrency)):
        if context.tokens_per_minute is not None:
            taken_amounts.append(await get_rate_limit("tokens", model, context.tokens_per_minute).take(estimate, clock))
        if context.requests_per_minute is not None:
            await get_rate_limit("requests", model, context.requests_per_minute).take(1, clock)
        yield taken_amounts


def get_rate_limit(kind: str, model: str, limit: float) -> RateLimit:
    """The limit on what a model may use per minute. kind: "tokens" or "requests".

    It belongs to the running event loop alone, unless `share_rate_limits` has set a function that makes other limits.
    """
    loop_cache = get_loop_cache()
    make_rate_limit: RateLimitMaker = loop_cache.get_or_make(
        "rate limits", lambda: lambda kind, model, limit: LocalRateLimit(limit)
    )
    return loop_cache.get_or_make((kind, model, limit), lambda: make_rate_limit(kind, model, limit))


def share_rate_limits(make_rate_limit: RateLimitMaker) -> None:
    """Let the running event loop get its rate limits from `make_rate_limit(kind, model, limit)`, so that several
    processes share them.
    """
    get_loop_cache().entries["rate limits"] = make_rate_limit
