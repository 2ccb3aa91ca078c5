"""Pays for what a watch itself asks: the rival of a cascade, and the judge. It has the limits of one client."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from quorum.core.state import Usage
from quorum.evaluation.metrics.prices import Prices
from quorum.models.embedding_requests import pay_for_embeddings
from quorum.serving.errors import BudgetSpentError, Refusal
from quorum.serving.limits import Limits, Reservation
from quorum.serving.metrics import Metrics
from quorum.serving.spending import Spending

T = TypeVar("T")
WATCH = "watch"  # the client whose limits apply, and the method under which the metrics count
LONGEST_WAIT = 600.0  # seconds until it is tried again whether the day's dollars allow a question


class WatchAccount:
    """Asks within the limits of a server; where they allow nothing now, it waits. No client waits for it."""

    def __init__(self, limits: Limits, prices: Prices, metrics: Metrics) -> None:
        self.limits, self.prices, self.metrics = limits, prices, metrics

    async def spend(
        self,
        bound: float,
        compute_cost: Callable[[Mapping[str, Usage]], float | None],
        ask: Callable[[Any], Awaitable[T]],
    ) -> T:
        """Ask, and count the cost. bound: the most dollars that it may cost; ask: takes the config of the run."""
        while True:
            reservation = await self.reserve(bound if self.limits.dollars_per_day is not None else 0.0)
            spending, started_at, outcome = Spending(reservation, self.prices), time.perf_counter(), "failed"
            try:
                with pay_for_embeddings(spending):
                    answer = await ask({"callbacks": [spending]})
                outcome = "answered"
                return answer
            except BudgetSpentError:
                await asyncio.sleep(LONGEST_WAIT)
            finally:
                dollars = spending.compute_dollars(compute_cost(spending.usage))
                reservation.close(dollars)
                seconds = time.perf_counter() - started_at
                self.metrics.record(WATCH, outcome, seconds, spending.usage, dollars)

    async def reserve(self, bound: float) -> Reservation:
        """Wait until the limits allow a question."""
        while True:
            try:
                return self.limits.begin(WATCH, bound=bound)
            except Refusal as refusal:
                seconds = LONGEST_WAIT
                with suppress(KeyError, ValueError):
                    seconds = float(refusal.headers["retry-after"])
                await asyncio.sleep(seconds)
