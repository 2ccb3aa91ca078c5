"""Work done by several workers at once, which take what there is to do from the same source."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


async def at_once(count: int, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """`count` workers, each of which runs `work` to its end; the first error ends all of them and is raised itself."""
    try:
        async with asyncio.TaskGroup() as workers:
            for _ in range(count):
                workers.create_task(work())
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
