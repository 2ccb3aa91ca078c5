"""Stops work for good when nobody waits for it any more.

A server goes on cancelling the code of a client that has left until this code has ended (anyio's cancel scopes).
LangGraph stops its nodes when it is cancelled; if it is cancelled again meanwhile, it leaves some of them running. So
work that may be left runs in a task of its own, which is cancelled exactly once.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing, suppress
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from anyio import CancelScope

T = TypeVar("T")
SECONDS_BETWEEN_LOOKS = 0.1  # how often a sleeping thread looks whether it should stop
# Set when the code that waits for the running thread's work is cancelled; None where nothing can be cancelled.
STOP_OF_THREAD: ContextVar[threading.Event | None] = ContextVar("STOP_OF_THREAD", default=None)

# Whether the running code is part of work in a task of its own, which is cancelled exactly once. Its parts need none.
IS_APART: ContextVar[bool] = ContextVar("IS_APART", default=False)


async def end_task(task: "asyncio.Task[Any]") -> None:
    """Cancel a task that is still running, and wait until it has ended."""
    task.cancel()
    await outlast(task)


async def outlast(task: "asyncio.Task[Any]") -> None:
    """Wait until a task has ended. If the waiting code is cancelled meanwhile, CancelledError is raised afterwards."""
    cancellation: asyncio.CancelledError | None = None
    with CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancellation = error
    if cancellation is not None:
        raise cancellation


async def wait_for_task(task: "asyncio.Task[T]", stop: asyncio.Event | None = None) -> T:
    """The task's result. If the waiting code is cancelled, the task is cancelled once and ends before this returns.

    stop: when this event is set, the task is cancelled, too, and CancelledError is raised.
    """
    stopped = None if stop is None else asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait([task] if stopped is None else [task, stopped], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise asyncio.CancelledError
        return task.result()
    finally:
        if stopped is not None:
            stopped.cancel()
        await end_task(task)


async def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """The result of the work, which runs in a task of its own, unless the caller runs apart already."""
    if IS_APART.get():
        return await work
    context = copy_context()
    context.run(IS_APART.set, True)
    return await wait_for_task(asyncio.get_running_loop().create_task(work, context=context))


async def iterate_apart(items: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """The items of a generator, each computed in a task of its own, unless the caller runs apart already. Leaving the
    loop ends the generator.

    All tasks share one copy of the context variables, as if the generator ran in one task.
    """
    if IS_APART.get():
        async with aclosing(items):
            async for item in items:
                yield item
        return
    loop, context = asyncio.get_running_loop(), copy_context()
    context.run(IS_APART.set, True)
    try:
        while True:
            try:
                item = await wait_for_task(loop.create_task(advance(items), context=context))
            except StopAsyncIteration:
                return
            yield item
    finally:
        # Closing may take time, and must not be interrupted: it waits for the parts of the work to stop.
        await outlast(loop.create_task(items.aclose(), context=context))


async def advance(items: AsyncIterator[T]) -> T:
    """The next item. A coroutine, because a task cannot run an `anext` object."""
    return await anext(items)


async def run_on_daemon_thread(work: Callable[..., T], *args: Any) -> T:
    """The result of `work(*args)`, called on a thread of its own. If this task is cancelled, nobody waits for the
    thread: not the event loop that closes, nor the process that ends. So Ctrl-C works while a server is silent.
    """
    loop, stop = asyncio.get_running_loop(), threading.Event()
    outcome: asyncio.Future[T] = loop.create_future()
    context = copy_context()
    context.run(STOP_OF_THREAD.set, stop)

    def settle(value: Any, error: BaseException | None) -> None:
        if not outcome.done():
            if error is None:
                outcome.set_result(value)
            else:
                outcome.set_exception(error)

    def run() -> None:
        value, failure = None, None
        try:
            value = context.run(work, *args)
        except BaseException as error:  # noqa: BLE001  raised again where the result is awaited
            failure = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=run, name="quorum-work", daemon=True).start()
    try:
        return await outcome
    finally:
        stop.set()


async def sleep_unless_stopped(seconds: float, sleep: Callable[[float], Awaitable[None]]) -> None:
    """Sleep. Raises InterruptedError once the code is cancelled that waits for the work of the calling thread."""
    stop = STOP_OF_THREAD.get()
    while stop is not None and seconds > SECONDS_BETWEEN_LOOKS:
        if stop.is_set():
            raise InterruptedError
        await sleep(SECONDS_BETWEEN_LOOKS)
        seconds -= SECONDS_BETWEEN_LOOKS
    await sleep(seconds)
