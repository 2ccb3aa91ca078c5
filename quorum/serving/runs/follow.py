"""Sends the numbered events of a file, also those to come, as server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable

from starlette.requests import Request

from quorum.serving.chat_request import make_field_refusal
from quorum.serving.runs.run_file import RunFile

KEEPALIVE_SECONDS = 10.0  # a stream without events sends a comment this often, because proxies close idle streams
STREAM_HEADERS = {"x-accel-buffering": "no"}


async def follow_file(
    file: RunFile, after: int, find_change: Callable[[], asyncio.Event | None]
) -> AsyncIterator[bytes | None]:
    """The lines of the events with higher numbers than `after`, also those to come, until there will be none. None
    after KEEPALIVE_SECONDS without an event.

    find_change: gives what is set at the next event; None if none will come.
    """
    offset = 0
    while True:
        changed = find_change()
        lines: list[bytes] = []
        try:
            lines, offset = file.read_lines(offset)
        except OSError:
            return  # deleted meanwhile
        for line in lines:
            if get_number(line) > after:
                yield line
        if lines:
            continue
        if changed is None:
            return
        try:
            async with asyncio.timeout(KEEPALIVE_SECONDS):
                await changed.wait()
        except TimeoutError:
            yield None


def get_number(line: bytes) -> int:
    """The number of an event, from its line; 0 for the first line of a file.

    >>> get_number(b'{"n": 12, "time": 1.0}')
    12
    """
    return int(line[6 : line.index(b",")]) if line.startswith(b'{"n": ') else 0


def format_line_as_event(line: bytes | None) -> bytes:
    """A server-sent event with its number, its kind and its JSON; a comment for None."""
    if line is None:
        return b": still at work\n\n"
    kind = json.loads(line)["type"].encode()
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (get_number(line), kind, line)


def read_last_number(request: Request) -> int:
    """The number of the last event that the client knows. Raises `Refusal`."""
    text = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
    if not (text.isascii() and text.isdecimal() and len(text) <= 15):
        raise make_field_refusal("Last-Event-ID", "the number of an event")
    return int(text)
