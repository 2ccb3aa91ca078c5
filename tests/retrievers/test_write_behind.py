"""Writes on another thread: they keep their order, their errors are raised, and the last write is waited for."""

import threading

import pytest
from openai_server import LONGEST_WAIT

from quorum.core.errors import SetupError
from quorum.retrievers.write_behind import WriteBehind


def test_writes_run_in_order_while_the_caller_goes_on() -> None:
    writes, gate, finished_writes = WriteBehind(), threading.Event(), list[str]()

    def write_slowly() -> None:
        gate.wait(LONGEST_WAIT)
        finished_writes.append("first")

    writes.start(write_slowly)
    assert finished_writes == []  # the caller went on
    gate.set()
    writes.start(lambda: finished_writes.append("second"))
    writes.wait()
    assert finished_writes == ["first", "second"]
    writes.close()


def test_the_error_of_a_write_is_raised_by_the_next_call() -> None:
    writes = WriteBehind()

    def fail() -> None:
        raise SetupError("The disk is full.")

    writes.start(fail)
    with pytest.raises(SetupError, match="The disk is full"):
        writes.start(lambda: None)
    writes.close()


def test_closing_waits_for_the_last_write_even_if_it_fails() -> None:
    writes, gate, ended_writes = WriteBehind(), threading.Event(), list[bool]()

    def fail_late() -> None:
        gate.wait(LONGEST_WAIT)
        ended_writes.append(True)
        raise SetupError("The disk is full.")

    writes.start(fail_late)
    threading.Timer(0.01, gate.set).start()
    writes.close()
    assert ended_writes == [True]
