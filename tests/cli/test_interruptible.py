"""Ctrl-C ends a command's coroutine cleanly, whatever the event loop is doing when it comes."""

import asyncio
import logging
import re
import signal
from pathlib import Path
from threading import Thread

import pytest

import quorum
from quorum.cli import interruptible
from quorum.cli.interruptible import run_interruptible

pytestmark = pytest.mark.usefixtures("ctrl_c_raises")


def press_ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


async def wait_for_a_result_set_during_ctrl_c() -> None:
    """Ctrl-C comes after the loop has seen that the future is not done, and before it sets its result."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def settle() -> None:
        if not future.done():
            press_ctrl_c()
            future.set_result(None)

    loop.call_soon(settle)
    await future
    await asyncio.sleep(60)


def test_ctrl_c_between_two_instructions_of_the_loop_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "asyncio"), pytest.raises(KeyboardInterrupt):
        run_interruptible(wait_for_a_result_set_during_ctrl_c())
    assert caplog.text == ""


def test_the_cleanup_is_waited_for_unless_ctrl_c_comes_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []

    async def work() -> None:
        try:
            press_ctrl_c()
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            press_ctrl_c()
            steps.append("clean")

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work())
    assert steps == ["clean"]  # keys are often pressed twice
    monkeypatch.setattr(interruptible, "SECONDS_FOR_CLEANUP", 0.0)
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work())
    assert steps == ["clean"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_loop_serves_the_next_coroutine_after_ctrl_c() -> None:
    async def interrupt() -> None:
        press_ctrl_c()
        await asyncio.sleep(60)

    with asyncio.Runner() as runner:
        with pytest.raises(KeyboardInterrupt):
            run_interruptible(interrupt(), runner.run)
        assert run_interruptible(asyncio.sleep(0, "next"), runner.run) == "next"


def test_other_handlers_of_ctrl_c_and_other_threads_are_left_alone() -> None:
    handlers = []

    async def look() -> None:
        handlers.append(signal.getsignal(signal.SIGINT))

    for handler in (signal.SIG_IGN, lambda *_: None):
        signal.signal(signal.SIGINT, handler)
        run_interruptible(look())
        assert handlers.pop() is handler
    signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = Thread(target=run_interruptible, args=(look(),))
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]


def test_an_error_and_a_cancellation_without_ctrl_c_pass_through() -> None:
    async def cancel_itself() -> None:
        raise asyncio.CancelledError

    async def fail() -> None:
        raise ValueError("wrong")

    with pytest.raises(asyncio.CancelledError):
        run_interruptible(cancel_itself())
    with pytest.raises(ValueError, match="wrong"):
        run_interruptible(fail())


def test_every_command_runs_its_coroutines_so() -> None:
    modules = sorted(Path(quorum.__file__).parent.joinpath("cli").glob("*.py"))
    users = [module.name for module in modules if re.search(r"\b(asyncio|runner)\.run\(", module.read_text())]
    assert modules
    assert users == []
