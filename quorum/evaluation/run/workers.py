"""Runs several workers at once; they take their work from the same source."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

MOST_WORKERS_WITHOUT_PAUSE = 8  # if there are no more workers than this, they start without a pause in between
# Seconds between the starts of two workers if there are more: about the time from a question's start to its first call.
START_INTERVAL = 0.005


async def run_workers(count: int, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Start `count` workers, and wait until they have finished. The first error cancels all workers and is raised.

    Each worker awaits `work()` once. `work` takes one item after the other from a source that all workers share,
    and returns when none is left. Many workers start one after the other, with a pause: if all started at once, none
    could make its first call before all had prepared theirs.
    """
    is_source_empty = False

    async def run_worker() -> None:
        nonlocal is_source_empty
        await work()
        is_source_empty = True

    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(count):
                workers.create_task(run_worker())
                if count > MOST_WORKERS_WITHOUT_PAUSE:
                    await asyncio.sleep(START_INTERVAL)
                if is_source_empty:
                    break
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
