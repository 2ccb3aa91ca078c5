"""Limits the calls of models: how many run at once, and the requests and tokens per minute.

The limits are those of one model of one server, and hold for all event loops of this process. A run brings its numbers
with its calls. Where runs bring different numbers for the same model, the smallest holds: of the calls that run or wait
and, for the limits per minute, of those of the last minute. `share_rate_limits` makes several processes share the
limits per minute.
"""

import threading
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from quorum.core.context import Context
from quorum.core.forks import PerProcess
from quorum.models.clock import Clock
from quorum.models.loops import get_loop_cache
from quorum.models.slots import Slots, count_earlier_calls

MINUTE = 60.0
MOST_MODELS = 256  # models that are kept; beyond, those that nobody asks are forgotten


@dataclass
class TakenAmount:
    """An amount (tokens or requests) taken from a rate limit, the time when it was taken, and the limit of its taker.
    `correct` replaces an estimate by the true amount.
    """

    time: float
    amount: float
    limit: float

    def correct(self, amount: float) -> None:
        self.amount = amount


class CorrectableAmount(Protocol):
    """An amount taken from a rate limit that this process or another one keeps. `correct` replaces an estimate by the
    true amount.
    """

    def correct(self, amount: float) -> None: ...


class RateLimit(Protocol):
    """A limit per minute, of a model's tokens or requests: a `LocalRateLimit`, or a limit that processes share.

    take: waits until `limit` per minute allows `amount`, then awaits `begin`, which waits for what else the call needs,
    and counts the amount.
    """

    async def take(
        self, amount: float, limit: float, clock: Clock, begin: Callable[[], Awaitable[object]], earlier_calls: int = 0
    ) -> CorrectableAmount: ...


async def begin_at_once() -> None:
    """Wait for nothing more."""


class LocalRateLimit:
    """Lets its callers take together at most the smallest of their limits, in tokens or requests, in any sixty seconds.
    They are served in the order of `Slots`.

    A caller that wants more than the limit waits until nothing has been taken for sixty seconds, and then takes it all.
    """

    def __init__(self) -> None:
        self.taken_amounts: deque[TakenAmount] = deque()
        self.turn = Slots()  # one caller waits for the limit, the others for this slot
        self.waiting_limits: Counter[float] = Counter()
        self.lock = threading.RLock()

    async def take(
        self,
        amount: float,
        limit: float,
        clock: Clock,
        begin: Callable[[], Awaitable[object]] = begin_at_once,
        earlier_calls: int = 0,
    ) -> TakenAmount:
        """See `RateLimit`."""
        with self.lock:
            self.waiting_limits[limit] += 1
        try:
            async with self.turn.hold(1, earlier_calls):
                while (wait := self.compute_wait(amount, clock.now())) > 0:
                    await clock.sleep(wait)
                await begin()
                taken_amount = TakenAmount(clock.now(), amount, limit)
                self.taken_amounts.append(taken_amount)
                return taken_amount
        finally:
            with self.lock:
                self.waiting_limits[limit] -= 1
                if not self.waiting_limits[limit]:
                    del self.waiting_limits[limit]

    def compute_wait(self, amount: float, now: float) -> float:
        """Seconds until so many of the taken amounts are a minute old that `amount` fits; 0 if it fits now."""
        while self.taken_amounts and self.taken_amounts[0].time + MINUTE <= now:
            self.taken_amounts.popleft()
        with self.lock:
            limit = min([*self.waiting_limits, *(taken.limit for taken in self.taken_amounts)])
        excess = sum(taken_amount.amount for taken_amount in self.taken_amounts) + amount - limit
        wait = 0.0
        for taken_amount in self.taken_amounts:
            if excess <= 0:
                break
            excess -= taken_amount.amount
            wait = taken_amount.time + MINUTE - now
        return wait


RateLimitMaker = Callable[[str, str], RateLimit]  # (kind, model) as in `get_rate_limit`


@dataclass
class ModelLimits:
    """What the calls of one model share in this process. rates: "tokens" and "requests" per minute."""

    slots: Slots = field(default_factory=Slots)
    rates: dict[str, LocalRateLimit] = field(
        default_factory=lambda: {"tokens": LocalRateLimit(), "requests": LocalRateLimit()}
    )

    @property
    def is_idle(self) -> bool:
        """Whether no call runs or waits. Amounts of the last minute may be forgotten with it."""
        return not self.slots.limits and not any(rate.waiting_limits for rate in self.rates.values())


class LimitsOfModels:
    """The limits of each model, by its name, which holds the server."""

    def __init__(self) -> None:
        self.by_model: dict[str, ModelLimits] = {}
        self.lock = threading.Lock()

    def get(self, model: str) -> ModelLimits:
        limits = self.by_model.get(model)
        if limits is None:
            with self.lock:
                if len(self.by_model) >= MOST_MODELS:
                    self.by_model = {name: one for name, one in self.by_model.items() if not one.is_idle}
                limits = self.by_model.setdefault(model, ModelLimits())
        return limits


MODEL_LIMITS = PerProcess(LimitsOfModels)


@asynccontextmanager
async def wait_for_limits(
    context: Context, model: str, estimate: int, clock: Clock
) -> AsyncGenerator[list[CorrectableAmount], None]:
    """Wait until the limits allow one call. The call takes place inside the `async with` block, in a slot, which a call
    that waits for a limit per minute does not hold.

    model: what names the model and its server; estimate: the tokens of the call, estimated. Yields what was taken from
    the limit on tokens (nothing if there is no such limit): the caller corrects it to the number of tokens that the
    call really used.
    """
    limits, earlier_calls = MODEL_LIMITS.get().get(model), count_earlier_calls()
    begin: Callable[[], Awaitable[object]] = partial(limits.slots.take, context.concurrency, earlier_calls)
    taken_amounts: list[CorrectableAmount] = []
    if context.requests_per_minute is not None:
        begin = partial(take, "requests", model, 1, context.requests_per_minute, clock, begin, earlier_calls)
    if context.tokens_per_minute is not None:
        taken_amounts.append(
            await take("tokens", model, estimate, context.tokens_per_minute, clock, begin, earlier_calls)
        )
    else:
        await begin()
    try:
        yield taken_amounts
    finally:
        limits.slots.release(context.concurrency)


async def take(
    kind: str,
    model: str,
    amount: float,
    limit: float,
    clock: Clock,
    begin: Callable[[], Awaitable[object]],
    earlier_calls: int,
) -> CorrectableAmount:
    """Take an amount from one limit per minute of a model; see `RateLimit`. kind: "tokens" or "requests"."""
    return await get_rate_limit(kind, model).take(amount, limit, clock, begin, earlier_calls)


def get_rate_limit(kind: str, model: str) -> RateLimit:
    """The limit on what a model may use per minute. kind: "tokens" or "requests".

    It is this process's, unless `share_rate_limits` has set a function that makes other limits.
    """
    loop_cache = get_loop_cache()
    make_rate_limit: RateLimitMaker | None = loop_cache.entries.get("rate limits")
    if make_rate_limit is None:
        return MODEL_LIMITS.get().get(model).rates[kind]
    return loop_cache.get_or_make((kind, model), lambda: make_rate_limit(kind, model))


def share_rate_limits(make_rate_limit: RateLimitMaker) -> None:
    """Let the running event loop get its rate limits from `make_rate_limit(kind, model)`, so that several processes
    share them.
    """
    get_loop_cache().entries["rate limits"] = make_rate_limit
