"""Sees whether a streamed response ends with the event [DONE], which OpenAI's client reads and does not pass on."""

import re
from collections.abc import AsyncIterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from quorum.models.http_library import BodyStream

# The event at the beginning of a line. A model's text cannot hold it: JSON escapes line breaks.
DONE_EVENT = re.compile(rb"[\r\n]data: ?\[DONE\]")
EVENT_BYTES = len(b"\rdata: [DONE]")


@dataclass
class DoneMark:
    """Whether the event [DONE] has come."""

    is_seen: bool = False


AWAITED_MARK: ContextVar[DoneMark | None] = ContextVar("AWAITED_MARK", default=None)  # of the stream that is requested


class WatchedStream(BodyStream):  # type: ignore[misc]  # a class that is made when the library is known
    """The body of a response, which notes in `mark` that [DONE] has come."""

    def __init__(self, stream: Any, mark: DoneMark) -> None:
        self.stream, self.mark = stream, mark

    async def __aiter__(self) -> AsyncIterator[bytes]:
        tail = b"\n"
        async for part in self.stream:
            tail += part
            self.mark.is_seen = self.mark.is_seen or bool(DONE_EVENT.search(tail))
            tail = tail[-EVENT_BYTES:]
            yield part

    async def aclose(self) -> None:
        await self.stream.aclose()


async def watch_response(response: Any) -> None:
    """An event hook of an HTTP client: watch the response if `AWAITED_MARK` is set."""
    mark = AWAITED_MARK.get()
    if mark is not None:
        response.stream = WatchedStream(response.stream, mark)
