"""Identical work at the same time is done once: whoever asks for a key that is in flight waits for the same result."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from quorum.models.loops import per_loop

T = TypeVar("T")


@dataclass
class Flight:
    """Work under way and how many wait for it."""

    task: "asyncio.Task[Any]"
    waiters: int = 0


async def joined(key: str | None, work: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
    """The result of `work`, and whether this caller started it. Without a key nothing is shared.

    A caller that is cancelled leaves the others their result; the work ends when nobody waits for it any more.
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
    """Forget a flight; its error, if any, was given to those who waited."""
    if key in flights and flights[key].task is task:
        del flights[key]
    if task.done() and not task.cancelled():
        task.exception()
