"""Writes beside the caller: their order, their errors and the last one."""

import threading

import pytest

from quorum.core.errors import SetupError
from quorum.retrievers.write_behind import WriteBehind


def test_writes_run_in_order_beside_the_caller() -> None:
    writing, gate, finished_writes = WriteBehind(), threading.Event(), list[str]()

    def write_slowly() -> None:
        gate.wait(10)
        finished_writes.append("first")

    writing.start(write_slowly)
    assert finished_writes == []  # the caller went on
    gate.set()
    writing.start(lambda: finished_writes.append("second"))
    writing.wait()
    assert finished_writes == ["first", "second"]
    writing.close()


def test_the_error_of_a_write_is_raised_by_the_next_call() -> None:
    writing = WriteBehind()

    def fail() -> None:
        raise SetupError("The disk is full.")

    writing.start(fail)
    with pytest.raises(SetupError, match="The disk is full"):
        writing.start(lambda: None)
    writing.close()


def test_closing_waits_for_the_last_write_even_if_it_fails() -> None:
    writing, gate, ended = WriteBehind(), threading.Event(), list[bool]()

    def fail_late() -> None:
        gate.wait(10)
        ended.append(True)
        raise SetupError("The disk is full.")

    writing.start(fail_late)
    threading.Timer(0.01, gate.set).start()
    writing.close()
    assert ended == [True]
