"""Limits the questions per minute and the dollars per day of each client."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

from quorum.core.text import format_count
from quorum.serving.errors import NO_RETRY_HEADERS, BudgetSpentError, Refusal
from quorum.serving.named_tokens import Allowance

MINUTE, DAY = 60.0, 86_400.0  # seconds
# A chat client adds to each question up to four requests of its own: for a title, tags, follow-up questions and search
# queries.
SIDE_TASKS_PER_QUESTION = 4


@dataclass
class Account:
    """The usage of one client: of one API key, or of all who use a server without keys ("local").

    question_times, side_task_times: when the questions and side tasks of the last minute began; day: the current day,
    in days since 1970; dollars: what was spent on that day, the bounds of the calls in flight included; reserved: what
    the requests in progress may still spend; allowance: the client's limits.
    """

    allowance: Allowance
    question_times: deque[float] = field(default_factory=deque)
    side_task_times: deque[float] = field(default_factory=deque)
    day: int = 0
    dollars: float = 0.0
    reserved: float = 0.0


class Limits:
    """Refuses requests and calls beyond the limits of a client. Days are in UTC; the counts restart with the server.

    A request reserves the most that it may cost, and a call the most that it may cost is charged when it is sent, and
    corrected when its reply comes. So what a client spends in a day stays below the limit, as long as no call costs
    more than its bound.

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
        self.lock = threading.RLock()  # requests for embeddings are charged on threads

    def begin(
        self, client: str, *, is_side_task: bool = False, bound: float = 0.0, own: Allowance | None = None
    ) -> "Reservation":
        """Count the start of a question or side task. Close the reservation when it ends.

        bound: the most dollars that it may cost; own: the client's own limits, in place of those of all clients. Raises
        `Refusal` (429) beyond the limits.
        """
        with self.lock:
            account, allowance = self.find_account(client), self.find_allowance(own)
            account.allowance = allowance
            if not self.has_room(account, bound):
                message = (
                    f"{describe_account_holder(client)} may spend {allowance.dollars_per_day:g} dollars a day, of "
                    f"which {account.dollars:.4g} are spent and {account.reserved:.4g} kept for requests in progress; "
                    f"this one may cost {bound:.4g}: ask again when these requests have ended, or tomorrow (UTC)."
                )
                raise Refusal(429, message, "insufficient_quota", "insufficient_quota", headers=NO_RETRY_HEADERS)
            if allowance.questions_per_minute is not None:
                most_per_minute = allowance.questions_per_minute * (SIDE_TASKS_PER_QUESTION if is_side_task else 1)
                times = account.side_task_times if is_side_task else account.question_times
                admit_request(client, times, most_per_minute, self.clock())
            account.reserved += bound
            return Reservation(self, client, bound)

    def find_account(self, client: str) -> Account:
        """The client's account, with the dollars of today. A clock that is set back begins no new day."""
        account, day = self.accounts.setdefault(client, Account(self.find_allowance(None))), int(self.clock() // DAY)
        if day > account.day:
            account.day, account.dollars = day, 0.0
        return account

    def find_allowance(self, own: Allowance | None) -> Allowance:
        """The limits of a client: its own, and where it has none, those of all clients."""
        questions = own.questions_per_minute if own is not None else None
        dollars = own.dollars_per_day if own is not None else None
        return Allowance(
            self.questions_per_minute if questions is None else questions,
            self.dollars_per_day if dollars is None else dollars,
        )

    def has_room(self, account: Account, bound: float) -> bool:
        """Whether `bound` dollars more stay within the limit. Once all is spent, there is no room."""
        if account.allowance.dollars_per_day is None:
            return True
        spendable = account.allowance.dollars_per_day - account.dollars - account.reserved
        return bound <= spendable and spendable > 0


@dataclass(frozen=True)
class Charge:
    """What a call in flight may cost. day: on whose account it stands, in days since 1970; bound: in dollars."""

    day: int
    bound: float


@dataclass
class Reservation:
    """What a request in progress may still spend.

    remaining: of the dollars that were reserved when it began; charged: what its calls have cost, or may cost as long
    as they are in flight.
    """

    limits: Limits
    client: str
    remaining: float
    charged: float = 0.0

    def charge(self, bound: float) -> Charge:
        """Charge a call before it is sent. Raises BudgetSpentError if it could cost more than is left of the day."""
        with self.limits.lock:
            account = self.limits.find_account(self.client)
            taken = min(bound, self.remaining)
            account.reserved -= taken
            if not self.limits.has_room(account, bound):
                account.reserved += taken
                raise BudgetSpentError(
                    f"{describe_account_holder(self.client)} may spend {account.allowance.dollars_per_day:g} dollars a "
                    f"day, and the next call may cost {bound:.4g}, more than is left; ask again tomorrow (UTC)."
                )
            self.remaining -= taken
            self.charged += bound
            account.dollars += bound
            return Charge(account.day, bound)

    def correct(self, charge: Charge, dollars: float) -> None:
        """Replace the bound of a call by what it has cost, on the day on which it was charged."""
        with self.limits.lock:
            self.charged += dollars - charge.bound
            account = self.limits.find_account(self.client)
            if charge.day == account.day:  # else that day is over, and the call has nothing to do with the new one
                account.dollars += dollars - charge.bound

    def close(self, dollars: float | None = None) -> None:
        """Count the end of the request, and release what it did not need.

        dollars: the request's cost, if it is more than what its calls have cost (replies from the journal are charged,
        too); None if it is unknown.
        """
        with self.limits.lock:
            account = self.limits.find_account(self.client)
            account.reserved -= self.remaining
            self.remaining = 0.0
            if dollars is not None and dollars > self.charged:
                account.dollars += dollars - self.charged
                self.charged = dollars


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
