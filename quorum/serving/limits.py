"""Limits the questions per minute and the dollars per day of each token."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from quorum.serving.errors import NO_RETRY, Refusal

MINUTE, DAY = 60.0, 86_400.0  # seconds
SIDE_TASKS_PER_QUESTION = 4  # title, tags, follow-ups and a search


@dataclass
class Account:
    """The usage of one token.

    day: the day on which `dollars` were spent, counted from 1970; highest_cost: the cost of the most expensive answer.
    """

    questions: deque[float] = field(default_factory=deque)
    tasks: deque[float] = field(default_factory=deque)
    day: int = 0
    dollars: float = 0.0
    highest_cost: float = 0.0
    under_way: int = 0


class Limits:
    """Refuses requests beyond the limits; None: no limit. Days are in UTC; the counts restart with the server."""

    def __init__(
        self, per_minute: int | None = None, dollars: float | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.per_minute, self.dollars, self.clock = per_minute, dollars, clock
        self.accounts: dict[str, Account] = {}

    def begin(self, key: str, *, is_question: bool = True) -> None:
        """Count the start of a question or a side task. Raises `Refusal` (429) beyond the limits. Then call `end`."""
        now, account = self.clock(), self.accounts.setdefault(key, Account())
        if account.day != int(now // DAY):
            account.day, account.dollars = int(now // DAY), 0.0
        if self.dollars is not None and account.dollars + account.under_way * account.highest_cost >= self.dollars:
            message = (
                f"The {self.dollars:g} dollars that this key may spend in a day are spent; ask again tomorrow (UTC)."
            )
            raise Refusal(429, message, "insufficient_quota", "insufficient_quota", headers=NO_RETRY)
        if self.per_minute is not None:
            most_per_minute = self.per_minute * (1 if is_question else SIDE_TASKS_PER_QUESTION)
            admit_request(account.questions if is_question else account.tasks, most_per_minute, now)
        account.under_way += 1

    def end(self, key: str, dollars: float | None) -> None:
        """Count the end of a request and its cost; None: unknown."""
        account = self.accounts[key]
        account.under_way -= 1
        account.dollars += dollars or 0.0
        account.highest_cost = max(account.highest_cost, dollars or 0.0)


def admit_request(times: deque[float], most_per_minute: int, now: float) -> None:
    """Record a request if fewer than `most_per_minute` came in the last minute; else raise `Refusal`."""
    while times and times[0] <= now - MINUTE:
        times.popleft()
    if len(times) >= most_per_minute:
        wait = max(1, round(times[0] + MINUTE - now))
        message = f"This key may ask {most_per_minute} times a minute; ask again in {wait} s."
        raise Refusal(429, message, "rate_limit_exceeded", "rate_limit_error", headers={"retry-after": str(wait)})
    times.append(now)
