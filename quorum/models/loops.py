"""Keeps objects that belong to one event loop (clients, limits, calls in flight) and closes them with the loop."""

import asyncio
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


class LoopCache:
    """The objects of one event loop, each made once and found by its key.

    closers: asynchronous functions that close the objects; whoever makes an object that must be closed adds one.
    """

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self.closers: list[Callable[[], Awaitable[None]]] = []
        self.closing_generator = close_with_loop(self)

    def get_or_make(self, key: Any, make: Callable[[], T]) -> T:
        """The object of this key; `make` makes it on first use."""
        if key not in self.entries:
            self.entries[key] = make()
        entry: T = self.entries[key]
        return entry

    async def close(self) -> None:
        """Run all closers and forget the objects; called while the loop shuts down."""
        closers, self.closers = self.closers, []
        self.entries.clear()
        for close in closers:
            with suppress(Exception):  # a connection that breaks during closing is closed, too
                await close()


CACHE_OF_LOOP: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopCache]" = weakref.WeakKeyDictionary()


async def close_with_loop(loop_cache: LoopCache) -> AsyncGenerator[None, None]:
    """Close `loop_cache` with the loop: asyncio ends every suspended generator when the loop shuts down."""
    try:
        yield
    finally:
        CACHE_OF_LOOP.pop(asyncio.get_running_loop(), None)
        await loop_cache.close()


def get_loop_cache() -> LoopCache:
    """The objects of the running loop. RuntimeError if no loop runs."""
    loop = asyncio.get_running_loop()
    loop_cache = CACHE_OF_LOOP.get(loop)
    if loop_cache is None:
        for closed_loop in [key for key in CACHE_OF_LOOP if key.is_closed()]:
            del CACHE_OF_LOOP[closed_loop]  # closed without shutdown_asyncgens: its objects can only be dropped
        loop_cache = CACHE_OF_LOOP[loop] = LoopCache()
        with suppress(StopIteration):
            # Run the generator to its yield: now the loop knows it, and will end it.
            loop_cache.closing_generator.asend(None).send(None)
    return loop_cache
