"""Runs a coroutine for a command, so that Ctrl-C ends it cleanly at whatever moment it comes.

asyncio's own handler of Ctrl-C cancels the task at once, between any two instructions of the event loop. If the loop is
just then about to set the result of what the task waits for, it finds it cancelled and logs a traceback. Here the loop
cancels the task itself, between two of its steps.
"""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
SECONDS_FOR_CLEANUP = 2.0  # a Ctrl-C that follows sooner is taken for the same: keys are often pressed twice


def run_interruptible(work: Coroutine[Any, Any, T], run: Callable[[Coroutine[Any, Any, T]], T] = asyncio.run) -> T:
    """Return what the coroutine returns, and raise what it raises.

    Ctrl-C cancels it, waits for its cleanup and raises KeyboardInterrupt; another Ctrl-C, two seconds later, does not
    wait. run: runs a coroutine on an event loop; `asyncio.Runner.run` keeps the loop for the next one.

    >>> run_interruptible(asyncio.sleep(0, "done"))
    'done'
    """
    is_ctrl_c_handled_here = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    try:
        return run(cancel_at_ctrl_c(work) if is_ctrl_c_handled_here else work)
    finally:
        work.close()  # interrupted before its first step


async def cancel_at_ctrl_c(work: Coroutine[Any, Any, T]) -> T:
    """The result of the coroutine; see `run_interruptible`."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    interrupted_at: float | None = None

    def interrupt(*_: Any) -> None:
        nonlocal interrupted_at
        if interrupted_at is None:
            interrupted_at = time.monotonic()
            loop.call_soon_threadsafe(task.cancel)
        elif time.monotonic() - interrupted_at >= SECONDS_FOR_CLEANUP:
            raise KeyboardInterrupt

    handler_of_asyncio = signal.signal(signal.SIGINT, interrupt)
    try:
        return await work
    except asyncio.CancelledError:
        if interrupted_at is not None:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGINT, handler_of_asyncio)
