"""What a forked process makes anew: it has none of its parent's threads, and what waits for one would wait for ever."""

import ctypes
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import WeakSet

P = ParamSpec("P")
T = TypeVar("T")


class PerProcess(Generic[T]):
    """A value that is made when it is first needed, and made anew when a forked process first needs it.

    >>> numbers = PerProcess(lambda: [1])
    >>> numbers.get() is numbers.get()
    True
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self.make = make
        self.made: list[T] = []  # empty, or the value
        self.lock = threading.Lock()
        VALUES.add(self)

    def get(self) -> T:
        """The value of this process. Several threads may call this at once."""
        if not self.made:
            with self.lock:
                if not self.made:
                    self.made = [self.make()]
        return self.made[0]

    def forget(self) -> None:
        """Have no value. The old one is never released."""
        keep_for_ever(self.made)
        self.made, self.lock = [], threading.Lock()


VALUES: WeakSet[PerProcess[Any]] = WeakSet()


def keep_for_ever(values: Iterable[Any]) -> None:
    """Never release these objects, not even when the process ends: their release would wait for threads that are not
    here.
    """
    for value in values:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def run_in_forks(act: Callable[[], None]) -> None:
    """Call the function in every process that is forked from this one, before anything else runs in it."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=act)


def forget_values() -> None:
    for value in list(VALUES):
        value.forget()


run_in_forks(forget_values)


class WorkerThread(Executor):
    """One thread, started when it gets its first job, which does one job after the other."""

    def __init__(self, name: str) -> None:
        self.pool = PerProcess(lambda: ThreadPoolExecutor(1, thread_name_prefix=name))

    def submit(self, work: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> Future[T]:
        return self.pool.get().submit(work, *args, **options)
