"""Asynchronous work from synchronous code, also where an event loop runs already, as in a notebook."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_to_end(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of `work()`. Inside a running event loop it uses one of its own, on a thread.

    An interrupt (Ctrl-C, a notebook's stop button) cancels the work and waits until it has ended.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def noted() -> T:
        task = asyncio.current_task()
        assert task is not None  # this is one
        running.append((asyncio.get_running_loop(), task))
        return await work()

    with ThreadPoolExecutor(max_workers=1) as thread:
        future = thread.submit(contextvars.copy_context().run, lambda: asyncio.run(noted()))
        try:
            return future.result()
        except BaseException:
            if not future.done() and running:
                loop, task = running[0]
                loop.call_soon_threadsafe(task.cancel)
            raise
