"""Reads how long a server asks to wait before the next try, from its headers and messages, and chooses that wait.

Servers write seconds, durations such as "1m30s", dates, or the time at which their limit ends in seconds or
milliseconds since 1970.
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

FIRST_WAIT = 0.5  # seconds before another try, if the server does not ask for a wait; it doubles with every try
LONGEST_REQUESTED_WAIT = 600.0  # seconds; a server that asks for a longer wait gets no further try
EARLIEST_EPOCH, EARLIEST_EPOCH_IN_MILLISECONDS = 1e9, 1e11  # a larger number is a time, not a number of seconds
DAY = 86_400.0
LONGEST_SECONDS = 30 * DAY  # a longer wait is a mistake of the server
SECONDS_OF_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": DAY}
UNIT = r"(?:ms|milliseconds?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?)\b"
PART = re.compile(rf"(\d+(?:\.\d+)?)\s*({UNIT}|(?:ms|[smhd])(?=\d))", re.IGNORECASE)
DURATION = re.compile(rf"(?:{PART.pattern}[\s,]*(?:and\s+)?)+", re.IGNORECASE)
STATED_WAIT = re.compile(
    rf"\b(?:try again|retry(?:ing)?|retry[- ]after|wait|available|resets?)\b[^.\d]{{0,40}}?"
    rf"(?P<duration>{DURATION.pattern})",
    re.IGNORECASE,
)
# Headers with the end of a limit, and those beside them that say how much of the limit is left.
RESET_HEADER = re.compile(
    r"(?:x-|anthropic-)?rate-?limit-(?:(?P<kind>[\w-]+)-)?reset(?:-after)?(?:-(?P<kind2>[\w-]+))?"
)


def read_duration(value: Any) -> float | None:
    """The seconds of a number, or of a text such as "30", "30s", "1m30.5s" or "250 ms"; None for anything else.

    >>> read_duration("1m30s"), read_duration("120, 120"), read_duration("250ms"), read_duration("soon")
    (90.0, 120.0, 0.25, None)
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if math.isfinite(value) and 0 <= value <= LONGEST_SECONDS else None
    text = str(value).split(",")[0].strip() if isinstance(value, str) else ""
    if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", text):
        return read_duration(float(text))
    return add_up(text) if DURATION.fullmatch(text) else None


def add_up(text: str) -> float:
    """The seconds of all parts of a duration."""
    return sum(
        float(number) * SECONDS_OF_UNIT["ms" if unit.lower().startswith(("ms", "mil")) else unit[0].lower()]
        for number, unit in PART.findall(text)
    )


def find_stated_wait(message: str) -> float | None:
    """The seconds that a message asks to wait.

    >>> find_stated_wait("Rate limit reached. Please try again in 7m12.5s."), find_stated_wait("Slow down.")
    (432.5, None)
    """
    match = STATED_WAIT.search(message)
    return None if match is None else add_up(match["duration"])


def read_wait(text: str, unix_time: float) -> float | None:
    """The seconds of a header's value: a duration, a number that is a time since 1970, an HTTP date, or an ISO date.

    None for a value of no such form, and for a number that is a time in the past or more than a day ahead.

    >>> read_wait("1800000030", 1_800_000_000.0), read_wait("2027-01-15T08:00:07Z", 1_800_000_000.0)
    (30.0, 7.0)
    """
    text = text.strip()
    if re.fullmatch(r"\d{10,16}(\.\d{1,9})?", text) and float(text) >= EARLIEST_EPOCH:
        number = float(text)
        wait = (number / 1000 if number >= EARLIEST_EPOCH_IN_MILLISECONDS else number) - unix_time
        return wait if 0 <= wait <= DAY else None
    if (seconds := read_duration(text)) is not None:
        return seconds
    if (date := read_date(text)) is None:
        return None
    wait = date.timestamp() - unix_time
    return max(0.0, wait) if wait <= LONGEST_SECONDS else None


def read_date(text: str) -> datetime | None:
    """The date of an HTTP date or an ISO date; UTC if it names no time zone."""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            date = read(text)
        except (TypeError, ValueError):
            continue
        return date if date.tzinfo else date.replace(tzinfo=UTC)
    return None


def get_retry_after(error: BaseException, unix_time: float) -> float | None:
    """The seconds that the headers retry-after-ms or Retry-After ask to wait. A header that cannot be read is passed
    over. None without a valid one.
    """
    headers = get_headers(error)
    if (milliseconds := read_duration(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    retry_after = headers.get("retry-after") or headers.get("Retry-After")
    return None if retry_after is None else read_wait(str(retry_after), unix_time)


def get_limit_end(error: BaseException, unix_time: float) -> float | None:
    """The seconds until a used-up limit ends, from headers such as x-ratelimit-reset or x-ratelimit-reset-tokens; the
    longest if several limits are used up. None without such a header.
    """
    headers = {str(name).lower(): str(value) for name, value in get_headers(error).items()}
    waits = []
    for name, value in headers.items():
        if (match := RESET_HEADER.fullmatch(name)) is None:
            continue
        left = headers.get(name.replace("-after", "").replace("reset", "remaining"))
        is_used_up = left is None or read_duration(left) == 0
        # A limit of one kind, such as that of tokens, counts only if it is the one that is used up.
        if is_used_up and (left is not None or not (match["kind"] or match["kind2"])):
            waits.append(read_wait(value, unix_time))
    return max((wait for wait in waits if wait is not None), default=None)


def get_headers(error: BaseException) -> Mapping[str, Any]:
    """The headers of the response in a client's exception; empty without one."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None)
    return headers if hasattr(headers, "get") and hasattr(headers, "items") else {}


def choose_wait(requested: float | None, failed_tries: int, jitter: float, longest: float) -> float:
    """Seconds before the next try: what the server asked for and up to a tenth more, else exponential with full jitter.

    failed_tries: how many tries failed; jitter: a random number from 0 to 1; longest: the longest wait that is our own.
    """
    if requested is not None:
        return requested * (1 + 0.1 * jitter)
    return jitter * min(longest, FIRST_WAIT * 2.0**failed_tries)


def is_too_long(requested: float | None) -> bool:
    """Whether a server asks for so long a wait that it gets no further try."""
    return requested is not None and requested > LONGEST_REQUESTED_WAIT


def describe_long_wait(requested: float | None) -> str:
    """The wait that is too long, in brackets, for the end of an error; empty for any other."""
    return f" (the server asks for {requested:.0f} seconds)" if requested is not None and is_too_long(requested) else ""
