"""Limits the questions per minute and the dollars per day of each client."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

from quorum.core.text import format_count
from quorum.serving.errors import NO_RETRY_HEADERS, Refusal

MINUTE, DAY = 60.0, 86_400.0  # seconds
# A chat client adds to each question up to four requests of its own: for a title, tags, follow-up questions and search
# queries.
SIDE_TASKS_PER_QUESTION = 4


@dataclass
class Account:
    """The usage of one client: of one API key, or of all who use a server without keys ("local").

    question_times, side_task_times: when the questions and side tasks of the last minute began; day: the current day,
    in days since 1970; dollars: what was spent on that day; highest_cost: the cost of the most expensive answer so far.
    """

    question_times: deque[float] = field(default_factory=deque)
    side_task_times: deque[float] = field(default_factory=deque)
    day: int = 0
    dollars: float = 0.0
    highest_cost: float = 0.0
    requests_in_progress: int = 0


class Limits:
    """Refuses requests beyond the limits of a client. Days are in UTC; the counts restart with the server.

    questions_per_minute, dollars_per_day: None if there is no limit.
    """

    def __init__(
        self,
        questions_per_minute: int | None = None,
        dollars_per_day: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.questions_per_minute, self.dollars_per_day, self.clock = questions_per_minute, dollars_per_day, clock
        self.accounts: dict[str, Account] = {}

    def begin(self, client: str, *, is_side_task: bool = False) -> None:
        """Count the start of a question or side task; call `end` after it. Raises `Refusal` (429) beyond the limits.

        Each request in progress counts as if it cost as much as the most expensive answer so far.
        """
        now, account = self.clock(), self.accounts.setdefault(client, Account())
        if account.day != int(now // DAY):
            account.day, account.dollars = int(now // DAY), 0.0
        if (
            self.dollars_per_day is not None
            and account.dollars + account.requests_in_progress * account.highest_cost >= self.dollars_per_day
        ):
            message = (
                f"{describe_account_holder(client)} may spend {self.dollars_per_day:g} dollars a day; this amount "
                "is spent, or the requests in progress could spend the rest of it; ask again when these requests have "
                "ended, or tomorrow (UTC)."
            )
            raise Refusal(429, message, "insufficient_quota", "insufficient_quota", headers=NO_RETRY_HEADERS)
        if self.questions_per_minute is not None:
            most_per_minute = self.questions_per_minute * (SIDE_TASKS_PER_QUESTION if is_side_task else 1)
            times = account.side_task_times if is_side_task else account.question_times
            admit_request(client, times, most_per_minute, now)
        account.requests_in_progress += 1

    def end(self, client: str, dollars: float | None) -> None:
        """Count the end of a request and its cost. dollars: None if the cost is unknown."""
        account = self.accounts[client]
        account.requests_in_progress -= 1
        account.dollars += dollars or 0.0
        account.highest_cost = max(account.highest_cost, dollars or 0.0)


def describe_account_holder(client: str) -> str:
    """The subject of a refusal: all clients if the server has no keys (client "local"), else the key."""
    return "All clients together" if client == "local" else "This key"


def admit_request(client: str, times: deque[float], most_per_minute: int, now: float) -> None:
    """Record a request if fewer than `most_per_minute` came in the last minute; else raise `Refusal`."""
    while times and times[0] <= now - MINUTE:
        times.popleft()
    if len(times) >= most_per_minute:
        wait = max(1, ceil(times[0] + MINUTE - now))
        count = format_count(most_per_minute, "time")
        message = f"{describe_account_holder(client)} may ask {count} a minute; ask again in {wait} s."
        raise Refusal(429, message, "rate_limit_exceeded", "rate_limit_error", headers={"retry-after": str(wait)})
    times.append(now)
