"""Shares identical work that runs at the same time: callers with the same key wait for one result."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from quorum.models.loops import per_loop

T = TypeVar("T")


@dataclass
class Flight:
    """Work in flight and the number of callers that wait for it."""

    task: "asyncio.Task[Any]"
    waiters: int = 0


async def joined(key: str | None, work: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
    """The result of `work`, and whether this caller started it. Without a key nothing is shared.

    If a caller is cancelled, the others still get the result. The work is cancelled when no caller is left.
    """
    if key is None:
        return await work(), True
    flights: dict[str, Flight] = per_loop().once("flights", dict)
    flight = flights.get(key)
    mine = flight is None
    if flight is None:
        flight = flights[key] = Flight(asyncio.ensure_future(run(work)))
        flight.task.add_done_callback(lambda task: landed(flights, key, task))
    flight.waiters += 1
    try:
        return await asyncio.shield(flight.task), mine
    finally:
        flight.waiters -= 1
        if flight.waiters == 0 and not flight.task.done():
            landed(flights, key, flight.task)
            flight.task.cancel()


async def run(work: Callable[[], Awaitable[T]]) -> T:
    return await work()


def landed(flights: dict[str, Flight], key: str, task: "asyncio.Task[Any]") -> None:
    """Remove a flight. Its callers have already received its error, if any."""
    if key in flights and flights[key].task is task:
        del flights[key]
    if task.done() and not task.cancelled():
        task.exception()
