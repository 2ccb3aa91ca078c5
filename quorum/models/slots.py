"""Limits how many calls run at once in this process, and decides which of the waiting calls is next."""

import asyncio
import heapq
import itertools
import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class QuestionCalls:
    """How many calls a question has asked for so far. All tasks of the question share it."""

    count: int = 0


QUESTION_CALLS: ContextVar[QuestionCalls | None] = ContextVar("QUESTION_CALLS", default=None)


def queue_calls_as_one_question() -> None:
    """From here on, count the calls of the running task, and of the tasks that it starts, as those of one question.

    An evaluation does this for each question and method. The next waiting call is then that of the question with the
    fewest calls, so that questions advance together. Otherwise a few questions would be left at the end, each with one
    call at a time, and most slots would be empty.
    """
    QUESTION_CALLS.set(QuestionCalls())


def count_earlier_calls() -> int:
    """How many calls the running question asked for before this one, which is counted; 0 outside of an evaluation."""
    if (calls := QUESTION_CALLS.get()) is None:
        return 0
    calls.count += 1
    return calls.count - 1


@dataclass(slots=True)
class WaitingCall:
    """A call that waits.

    turn: gets a result when the call may run; has_slot: whether it was given one; is_gone: whether it was cancelled.
    """

    turn: "asyncio.Future[None]"
    has_slot: bool = False
    is_gone: bool = False


class Slots:
    """Lets a number of calls run at once, on all event loops of this process.

    Each call brings the number that its settings allow. The smallest number of the calls that run or wait holds: while
    one run asks with 4 and another with 5, at most 4 calls run.

    When a call ends, the next one is the waiting call whose question had asked for the fewest calls before it. Among
    equals, the one that came first is next. Calls outside of an evaluation belong to no question; each of them waits
    like a question's first call.
    """

    def __init__(self) -> None:
        self.running = 0
        self.limits: Counter[int] = Counter()  # limit -> how many calls with it run or wait
        # A heap of (calls that its question asked for before, number of its arrival, call).
        self.waiting_calls: list[tuple[int, int, WaitingCall]] = []
        self.arrival_numbers = itertools.count()
        # The garbage collector may end an abandoned call while this thread holds the lock.
        self.lock = threading.RLock()

    @asynccontextmanager
    async def hold(self, limit: int, earlier_calls: int = 0) -> AsyncIterator[None]:
        """Hold a slot in the `async with` block; see `take`."""
        await self.take(limit, earlier_calls)
        try:
            yield
        finally:
            self.release(limit)

    async def take(self, limit: int, earlier_calls: int = 0) -> None:
        """Wait for a slot, which `release` gives back. limit: how many calls may run at once; earlier_calls: what
        `count_earlier_calls` gave.
        """
        with self.lock:
            self.limits[limit] += 1
            if not self.waiting_calls and self.running < min(self.limits):
                self.running += 1
                return
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            call = WaitingCall(turn)
            heapq.heappush(self.waiting_calls, (earlier_calls, next(self.arrival_numbers), call))
            self.start_calls()  # others may wait only because they have just been cancelled
        try:
            await turn
        except BaseException:  # cancelled, perhaps in the moment in which it was given a slot
            with self.lock:
                call.is_gone = True
                self.running -= call.has_slot
                self.forget_limit(limit)
                self.start_calls()
            raise

    def release(self, limit: int) -> None:
        """Give back a slot that was taken with this limit, and start the calls that may run now."""
        with self.lock:
            self.running -= 1
            self.forget_limit(limit)
            if self.waiting_calls:
                self.start_calls()

    def forget_limit(self, limit: int) -> None:
        self.limits[limit] -= 1
        if not self.limits[limit]:
            del self.limits[limit]

    def start_calls(self) -> None:
        """Give the free slots to the calls that are next."""
        while self.waiting_calls and self.running < min(self.limits, default=1):
            call = heapq.heappop(self.waiting_calls)[2]
            if not call.is_gone and wake(call.turn):
                call.has_slot = True
                self.running += 1


def wake(turn: "asyncio.Future[None]") -> bool:
    """Let the task that waits for `turn` go on, on its own event loop. False if the loop is closed or the task gone."""
    loop = turn.get_loop()
    if turn.done() or loop.is_closed():
        return False
    if loop is get_loop():
        turn.set_result(None)
        return True
    try:
        loop.call_soon_threadsafe(finish, turn)
    except RuntimeError:  # closed in this moment
        return False
    return True


def get_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop of this thread, if it runs."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def finish(turn: "asyncio.Future[None]") -> None:
    if not turn.done():
        turn.set_result(None)
