"""Runs several workers at once; they take their work from the same source."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

STARTED_TOGETHER = 8  # up to this many workers start without a pause in between
# Seconds between the starts of two workers: about the time from a question's start to its first call.
START_INTERVAL = 0.005


async def run_workers(count: int, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Start `count` workers. Each runs `work` until no work is left. The first error cancels all workers and is raised.

    If there are many, they start one after the other: if all started at once, none could make its first call before all
    had prepared theirs.
    """
    has_ended = False

    async def worker() -> None:
        nonlocal has_ended
        await work()
        has_ended = True  # no work is left

    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(count):
                workers.create_task(worker())
                if count > STARTED_TOGETHER:
                    await asyncio.sleep(START_INTERVAL)
                if has_ended:
                    break
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
