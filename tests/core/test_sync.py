"""`run_sync` and `iterate_sync` run asynchronous work for synchronous callers."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any

import pytest

from quorum.core.sync import LOOP_THREADS, iterate_sync, run_sync

CONTEXT_VARIABLE: ContextVar[str] = ContextVar("SETTING")


async def get_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def raise_error(error: BaseException) -> None:
    raise error


async def yield_numbers(events: list[Any]) -> AsyncIterator[int]:
    """Yield 1, 2, 3. Append to `events` each number, and "closed" at the end."""
    try:
        for number in (1, 2, 3):
            events.append(number)
            yield number
    finally:
        events.append("closed")


def test_all_calls_share_one_loop() -> None:
    loops = [run_sync(get_loop()) for _ in range(2)]
    loops_of_thread: list[Any] = []
    thread = threading.Thread(target=lambda: loops_of_thread.append(run_sync(get_loop())))
    thread.start()
    thread.join()
    assert {*loops, *loops_of_thread} == {LOOP_THREADS.get_loop_thread(depth=0).loop}


async def test_run_sync_works_inside_a_running_loop() -> None:
    assert run_sync(get_loop()) is not asyncio.get_running_loop()


def test_the_caller_gets_the_original_error() -> None:
    error = LookupError("gone")
    with pytest.raises(LookupError) as caught:
        run_sync(raise_error(error))
    assert caught.value is error


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
def test_the_loop_survives_errors_and_cancellation(error: BaseException) -> None:
    with pytest.raises(type(error)):
        run_sync(raise_error(error))
    assert run_sync(get_loop()) is LOOP_THREADS.get_loop_thread(depth=0).loop


def test_asynchronous_work_may_call_synchronous_code_that_uses_the_loop() -> None:
    async def get_thread_name() -> str:
        return threading.current_thread().name

    async def list_thread_names() -> list[str]:
        """Call `run_sync` twice: from the loop's own thread, which waits meanwhile, and from another thread."""
        names = [run_sync(get_thread_name()), await asyncio.to_thread(run_sync, get_thread_name())]
        return [*names, threading.current_thread().name]

    assert run_sync(list_thread_names()) == ["quorum-loop-1", "quorum-loop-1", "quorum-loop-0"]


def test_the_work_sees_the_context_variables_of_the_caller_and_changes_none() -> None:
    async def read_variable() -> str:
        value = CONTEXT_VARIABLE.get()
        CONTEXT_VARIABLE.set("theirs")
        return value

    CONTEXT_VARIABLE.set("ours")
    assert (run_sync(read_variable()), CONTEXT_VARIABLE.get()) == ("ours", "ours")


def test_ctrl_c_cancels_the_work_and_waits_for_its_end(ctrl_c_raises: None) -> None:
    events = []

    async def wait() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            events.append("cancelled")
            await asyncio.sleep(0)
            events.append("cleaned up")
            raise

    with pytest.raises(KeyboardInterrupt):
        run_sync(wait())
    assert events == ["cancelled", "cleaned up"]


def test_a_generator_makes_items_as_they_are_asked_for() -> None:
    events: list[Any] = []
    items = iterate_sync(yield_numbers(events))
    assert (next(items), events) == (1, [1])
    assert (next(items), events) == (2, [1, 2])
    assert ([*items], events) == ([3], [1, 2, 3, "closed"])


def test_closing_a_generator_early_closes_the_asynchronous_one() -> None:
    events: list[Any] = []
    items = iterate_sync(yield_numbers(events))
    next(items)
    items.close()
    assert events == [1, "closed"]
    with pytest.raises(StopIteration):
        next(items)


def test_a_generator_that_nobody_reads_runs_nothing() -> None:
    events: list[Any] = []
    iterate_sync(yield_numbers(events)).close()
    assert events == []


def test_an_error_in_a_generator_reaches_the_caller() -> None:
    async def yield_then_fail() -> AsyncIterator[int]:
        yield 1
        raise LookupError("gone")

    items = iterate_sync(yield_then_fail())
    assert next(items) == 1
    with pytest.raises(LookupError, match="gone"):
        next(items)


def test_a_generator_may_be_dropped_in_the_thread_of_the_loop() -> None:
    """The garbage collector may run in any thread, and closes a dropped generator in that thread."""
    events: list[Any] = []
    generators = [iterate_sync(yield_numbers(events))]
    next(generators[0])

    async def drop_generator() -> None:
        generators.clear()

    run_sync(drop_generator())
    run_sync(get_loop())  # the loop runs its tasks in order, so the generator is closed by now
    assert events == [1, "closed"]


FORKING_SCRIPT = """
import os
from quorum.core.sync import run_sync

async def get_pid():
    return os.getpid()

assert run_sync(get_pid()) == os.getpid()
child = os.fork()
if child == 0:
    os._exit(0 if run_sync(get_pid()) == os.getpid() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

ENDING_SCRIPT = """
import asyncio, threading
from quorum.core.sync import iterate_sync, run_sync

async def yield_forever():
    try:
        while True:
            yield 1
    finally:
        print("closed", flush=True)

async def wait():
    started.set()
    try:
        await asyncio.Event().wait()
    finally:
        print("cancelled", flush=True)

items = iterate_sync(yield_forever())
next(items)
started = threading.Event()
threading.Thread(target=run_sync, args=[wait()], daemon=True).start()
started.wait()
"""


def run_script(script: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *options, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_makes_a_loop_of_its_own() -> None:
    assert run_script(FORKING_SCRIPT).stdout == "0\n"


def test_the_end_of_the_process_cancels_and_closes_open_work() -> None:
    process = run_script(ENDING_SCRIPT, "-X", "dev", "-W", "error")
    assert (process.returncode, sorted(process.stdout.split())) == (0, ["cancelled", "closed"])
    assert "Exception ignored" not in process.stderr
