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
    """Lets at most `count` calls run at once: each call runs in an `async with slots` block.

    When a call ends, the next one is the waiting call whose question had asked for the fewest calls before it. Among
    equals, the one that came first is next. Calls outside of an evaluation belong to no question; each of them waits
    like a question's first call.
    """

    def __init__(self, count: int) -> None:
        self.free_count = count
        # A heap with an entry for each waiting call: how many calls its question asked for before it, its arrival
        # number, and a future that gets a result when the call may run.
        self.waiting_calls: list[tuple[int, int, asyncio.Future[None]]] = []
        self.arrival_numbers = itertools.count()

    async def __aenter__(self) -> None:
        earlier_calls = 0
        if (calls := QUESTION_CALLS.get()) is not None:
            earlier_calls, calls.count = calls.count, calls.count + 1
        if self.free_count:
            self.free_count -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self.waiting_calls, (earlier_calls, next(self.arrival_numbers), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.pass_slot_on()  # this call was given a slot at the moment of its cancellation
            raise

    async def __aexit__(self, *error: object) -> None:
        self.pass_slot_on()

    def pass_slot_on(self) -> None:
        """Give a slot that is no longer used to the next waiting call. If none waits, the slot is free."""
        while self.waiting_calls:
            turn = heapq.heappop(self.waiting_calls)[2]
            if not turn.done():
                turn.set_result(None)
                return
        self.free_count += 1
