"""Runs asynchronous work for synchronous callers, on event loops in threads of their own.

All calls at the same depth of nesting share one loop. It is never replaced, because HTTP clients and the limits on
concurrent calls belong to one loop: so the second question reuses the connections of the first. The caller's thread
only waits, so a call works even if a loop is already running in that thread, as in a notebook.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Generator
from concurrent.futures import Future
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context  # this Context holds variables, not Quorum's settings
from typing import Any, TypeVar

T = TypeVar("T")
# How many calls of `run_sync` or `iterate_sync` the running code is nested in.
SYNC_CALL_DEPTH: ContextVar[int] = ContextVar("SYNC_CALL_DEPTH", default=0)
CLOSE_SECONDS = 5  # how long the end of the process waits for one loop to close
SECONDS_BETWEEN_LOOKS = 0.5  # a signal that comes just before a wait is handled only when this wait ends


class LoopThread:
    """An event loop that runs on a daemon thread until the process ends."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.serve, name=name, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        """Run the loop until `close`. A task that raises SystemExit stops the loop, which is then started again."""
        asyncio.set_event_loop(self.loop)
        closing = False
        while not closing:
            with suppress(SystemExit, KeyboardInterrupt):
                self.loop.run_forever()
                closing = True
        self.loop.run_until_complete(self.shut_down())
        self.loop.close()

    async def shut_down(self) -> None:
        """Cancel running tasks, then end the loop's asynchronous generators. One of these generators closes the clients
        (quorum/models/loops.py).
        """
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.loop.shutdown_asyncgens()

    def run(self, work: Coroutine[Any, Any, T], context: Context) -> T:
        """Run the work on this loop, with the variables of `context`. Wait for it and return its result.

        Ctrl-C cancels the work, waits for its cleanup, and is raised again.
        """
        outcome: Future[T] = Future()
        tasks: list[asyncio.Task[T]] = []

        def start() -> None:
            tasks.append(self.loop.create_task(work, context=context))
            tasks[0].add_done_callback(settle)

        def settle(task: asyncio.Task[T]) -> None:
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            if error is None:
                outcome.set_result(task.result())
            else:
                outcome.set_exception(error)

        def cancel() -> None:
            if tasks:
                tasks[0].cancel()
            else:  # interrupted before the loop started the task
                work.close()
                outcome.set_exception(asyncio.CancelledError())

        try:
            self.loop.call_soon_threadsafe(start)
            return wait_for(outcome)
        except BaseException:
            if not outcome.done():
                self.loop.call_soon_threadsafe(cancel)
                with suppress(BaseException):
                    wait_for(outcome)  # until the cleanup has ended
            raise

    def close(self) -> None:
        """Stop the loop and wait until it is closed."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(CLOSE_SECONDS)


class LoopThreads:
    """The process's loops, one for each depth of nested synchronous calls.

    A nested call needs a loop of its own, because it blocks the loop on which it is made.
    """

    def __init__(self) -> None:
        self.start_empty()

    def start_empty(self) -> None:
        """Hold no loops: at the beginning, and in a forked process, which does not have its parent's threads."""
        self.lock = threading.Lock()
        self.threads: list[LoopThread] = []

    def get_loop_thread(self, depth: int) -> LoopThread:
        """The thread whose loop serves synchronous calls at this depth, started on first use."""
        with self.lock:
            while len(self.threads) <= depth:
                self.threads.append(LoopThread(f"quorum-loop-{len(self.threads)}"))
            return self.threads[depth]

    def close(self) -> None:
        """Close all loops, the innermost first."""
        with self.lock:
            threads, self.threads = self.threads, []
        for thread in reversed(threads):
            thread.close()


LOOP_THREADS = LoopThreads()
atexit.register(LOOP_THREADS.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=LOOP_THREADS.start_empty)


def wait_for(outcome: "Future[T]") -> T:
    """The result of the outcome, in waits that end, so that Ctrl-C always gets through."""
    while not outcome.done():
        with suppress(TimeoutError):
            return outcome.result(SECONDS_BETWEEN_LOOKS)
    return outcome.result()


def find_loop() -> tuple[LoopThread, Context]:
    """(the thread of the loop for a synchronous call made here, a copy of the context variables for this call)."""
    depth, context = SYNC_CALL_DEPTH.get(), copy_context()
    context.run(SYNC_CALL_DEPTH.set, depth + 1)
    return LOOP_THREADS.get_loop_thread(depth), context


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Return what the coroutine returns, and raise what it raises. The call blocks until the coroutine ends.

    It works inside a running event loop, too.

    >>> async def add(a: int, b: int) -> int:
    ...     return a + b
    >>> run_sync(add(1, 2))
    3
    """
    loop_thread, context = find_loop()
    return loop_thread.run(work, context)


def iterate_sync(items: AsyncIterator[T]) -> Generator[T, None, None]:
    """The items of an asynchronous generator, each computed when the caller asks for it.

    Closing the returned generator closes `items`.
    """
    return iterate_on_loop(items, *find_loop())


def iterate_on_loop(items: AsyncIterator[T], loop_thread: LoopThread, context: Context) -> Generator[T, None, None]:
    """The items, each computed on the loop of `loop_thread` with the variables of `context`."""

    async def advance() -> T:
        return await anext(items)

    async def close() -> None:
        if isinstance(items, AsyncGenerator):
            await items.aclose()

    try:
        while True:
            try:
                item = loop_thread.run(advance(), context)
            except StopAsyncIteration:
                return
            yield item
    finally:
        # The garbage collector may close this generator on the loop's thread, where waiting would block the loop.
        if threading.current_thread() is loop_thread.thread:
            loop_thread.loop.create_task(close(), context=context)
        elif not loop_thread.loop.is_closed():
            loop_thread.run(close(), context)
