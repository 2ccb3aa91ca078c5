"""Limits how many calls run at once, and decides which of the waiting calls is next."""

import asyncio
import heapq
import itertools
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


class Slots:
    """At most `count` calls at once. The next is the one whose question has the fewest calls; among equals, the first.

    Calls outside of an evaluation belong to no question. Each of them waits like a question's first call.
    """

    def __init__(self, count: int) -> None:
        self.free = count
        self.waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self.arrivals = itertools.count()

    async def __aenter__(self) -> None:
        earlier_calls = 0
        if (calls := QUESTION_CALLS.get()) is not None:
            earlier_calls, calls.count = calls.count, calls.count + 1
        if self.free:
            self.free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self.waiting, (earlier_calls, next(self.arrivals), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.pass_on()  # the slot was given in the moment of the cancellation
            raise

    async def __aexit__(self, *error: object) -> None:
        self.pass_on()

    def pass_on(self) -> None:
        """Give a slot to the next waiting call."""
        while self.waiting:
            turn = heapq.heappop(self.waiting)[2]
            if not turn.done():
                turn.set_result(None)
                return
        self.free += 1
