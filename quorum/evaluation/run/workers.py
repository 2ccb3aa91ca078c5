"""Work done by several workers at once, which take what there is to do from the same source."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

TOGETHER = 8  # workers that may start all at once
APART = 0.005  # seconds between the starts of two workers: what it takes a question, about, to come to its first call


async def at_once(count: int, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """`count` workers, each of which runs `work` to its end, which is the end of what there is to do; the first error
    ends all of them and is raised itself.

    Many start one after the other: all at once, none would make its first call before every one had prepared its own.
    """
    ended = False

    async def worker() -> None:
        nonlocal ended
        await work()
        ended = True  # nothing is left to take

    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(count):
                workers.create_task(worker())
                if count > TOGETHER:
                    await asyncio.sleep(APART)
                if ended:
                    break
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
