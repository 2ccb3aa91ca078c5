"""Shares identical work that runs at the same time: callers with the same key wait for one result."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from quorum.models.loops import get_loop_cache

T = TypeVar("T")


@dataclass
class SharedCall:
    """Work that is under way, and the number of callers that wait for it."""

    task: "asyncio.Task[Any]"
    waiters: int = 0


async def share_call(key: str | None, work: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
    """The result of `work`, and whether this caller started it. Without a key nothing is shared.

    If a caller is cancelled, the others still get the result. The work is cancelled when no caller is left.
    """
    if key is None:
        return await work(), True
    calls: dict[str, SharedCall] = get_loop_cache().get_or_make("shared calls", dict)
    call = calls.get(key)
    is_first = call is None
    if call is None:
        call = calls[key] = SharedCall(asyncio.ensure_future(await_work(work)))
        call.task.add_done_callback(lambda task: remove_call(calls, key, task))
    call.waiters += 1
    try:
        return await asyncio.shield(call.task), is_first
    finally:
        call.waiters -= 1
        if call.waiters == 0 and not call.task.done():
            remove_call(calls, key, call.task)
            call.task.cancel()


async def await_work(work: Callable[[], Awaitable[T]]) -> T:
    """Call `work` and await it, so that both happen in the shared task."""
    return await work()


def remove_call(calls: dict[str, SharedCall], key: str, task: "asyncio.Task[Any]") -> None:
    """Remove a call that has ended or been abandoned."""
    if key in calls and calls[key].task is task:
        del calls[key]
    if task.done() and not task.cancelled():
        task.exception()  # read here, so that asyncio does not report it if every caller was cancelled
