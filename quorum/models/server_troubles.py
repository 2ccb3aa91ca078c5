"""Says on the log, after the first failed try of a call, that a server does not answer, and what happens next.

Many calls fail together when a server is gone, so a try is told once for each server, not once for each call.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from quorum.core.errors import SetupError
from quorum.models.failed_tries import tell_stream
from quorum.models.failures import Failure, describe_fault

LOG = logging.getLogger("quorum")
UNREACHABLE_SECONDS, FIRST_SERVER_WAIT = 300.0, 3.0  # all waits for a server that is gone, and the first of them
MAX_SERVER_TRIES = 8  # so many tries fit into UNREACHABLE_SECONDS
SECONDS_BETWEEN_REMINDERS = 60.0  # between two messages about a server on which calls have already failed for good
RATE_LIMITED = 429  # the HTTP status of a server that asks for fewer requests


def count_server_tries(attempts: int) -> int:
    """How many times a server that is gone is tried. attempts: the setting."""
    return min(attempts, MAX_SERVER_TRIES)


def compute_wait_for_server(failed_tries: int) -> float:
    """Seconds from the failed try with this number, from 1, to the next try of a server that is gone.

    >>> [compute_wait_for_server(number) for number in range(1, 8)]
    [3.0, 6.0, 12.0, 24.0, 48.0, 96.0, 111.0]
    """
    wait = FIRST_SERVER_WAIT * 2.0 ** (failed_tries - 1)
    waited_seconds = wait - FIRST_SERVER_WAIT
    return min(wait, UNREACHABLE_SECONDS - waited_seconds)


def describe_server_tries(tries: int) -> str:
    """The tries of a server that is gone, in words.

    >>> describe_server_tries(8), describe_server_tries(1)
    ('8 tries in 5 minutes', 'one try')
    """
    if tries == 1:
        return "one try"
    seconds = sum(compute_wait_for_server(number) for number in range(1, tries))
    return (
        f"{tries} tries in {seconds:.0f} seconds" if seconds < 120 else f"{tries} tries in {seconds / 60:.0f} minutes"
    )


@dataclass
class Trouble:
    """What was told about one server.

    calls: how many calls have failed on it and still try; told_tries: the highest number of a failed try that was told;
    told_at: when something was told last, in seconds; has_given_up: whether a call has failed for good.
    """

    calls: int = 0
    told_tries: int = 0
    told_at: float = field(default=float("-inf"))
    has_given_up: bool = False


TROUBLES: dict[str, Trouble] = {}
RATE_LIMITED_SERVERS: set[str] = set()
LOCK = Lock()


class ServerTries:
    """The tries of one call. server: the address of the server, or the label of a model without one."""

    def __init__(self, server: str, label: str) -> None:
        self.server, self.label = server, label
        self.has_failed = False

    def tell_failed_try(self, failure: Failure, failed_tries: int, all_tries: int, wait: float, now: float) -> None:
        """Tell the run's stream that a try failed and when the next one follows, and log it, unless another call has
        said so.

        wait, now: in seconds.
        """
        tell_stream(self.label, failure, failed_tries, all_tries, wait)
        if failure.is_passing and failed_tries == 1:
            return
        with LOCK:
            trouble = TROUBLES.setdefault(self.server, Trouble())
            trouble.calls += not self.has_failed
            self.has_failed = True
            if failure.status == RATE_LIMITED:  # such a server works; the run is only slower
                is_news = self.server not in RATE_LIMITED_SERVERS
                RATE_LIMITED_SERVERS.add(self.server)
            elif trouble.has_given_up:
                is_news = now - trouble.told_at >= SECONDS_BETWEEN_REMINDERS
            else:
                is_news = failed_tries > trouble.told_tries
            if is_news:
                trouble.told_tries, trouble.told_at = max(failed_tries, trouble.told_tries), now
        if is_news:
            next_try = f"try {failed_tries + 1} of {all_tries} in {max(1, round(wait))} s"
            LOG.warning("%s %s; %s; Ctrl-C stops", self.label, describe_fault(failure), next_try)

    def note_reply(self) -> None:
        """Note that the server answers: its next trouble is news again."""
        if TROUBLES:
            with LOCK:
                TROUBLES.pop(self.server, None)

    def note_end(self, *, has_given_up: bool) -> None:
        """Note that this call tries no more."""
        if not self.has_failed:
            return
        with LOCK:
            trouble = TROUBLES.get(self.server)
            if trouble is None:
                return
            trouble.calls -= 1
            trouble.has_given_up |= has_given_up
            if trouble.calls <= 0 and not trouble.has_given_up:
                del TROUBLES[self.server]


@contextmanager
def watch_tries(server: str, label: str) -> Iterator[ServerTries]:
    """The tries of one call, from its first to its last.

    If the `with` block raises a CallError or a client's error, the call has failed for good, and others will go on;
    after a SetupError or Ctrl-C nothing goes on, so that the next trouble is news.
    """
    tries, has_given_up = ServerTries(server, label), False
    try:
        yield tries
        tries.note_reply()
    except Exception as error:
        has_given_up = not isinstance(error, SetupError)
        raise
    finally:
        tries.note_end(has_given_up=has_given_up)


def forget_troubles() -> None:
    """Forget what was told, for tests: a later test server may get the same port."""
    with LOCK:
        TROUBLES.clear()
        RATE_LIMITED_SERVERS.clear()
