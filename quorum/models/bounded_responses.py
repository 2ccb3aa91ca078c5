"""Bounds of a server's response: its size once it is unpacked, its time, and where it may send a request on to."""

import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import openai

from quorum.core.files import format_megabytes
from quorum.models.http_library import OPENAI_HTTP, BodyStream

LARGEST_REPLY = 20_000_000  # bytes of a response, unpacked
PIECE = 1_000_000  # bytes that are unpacked at a time
LONGEST_SECONDS = 600.0  # of a response, if the client has no timeout of its own
ACCEPTED_ENCODINGS = "gzip, deflate"  # those that are unpacked here, piece by piece
REFUSED_ADDRESS = "quorum-refused-redirect"  # the header that takes the place of `location`


class ReplyTooLarge(openai.OpenAIError):
    """A response of more bytes than LARGEST_REPLY."""


class ReplyTimeoutError(openai.OpenAIError, TimeoutError):
    """A response that was still coming when its time was over."""


class ReplyBounds:
    """What may still come of one response.

    >>> b"".join(ReplyBounds("gzip", 10.0).unpack(zlib.compress(b"text")))
    b'text'
    """

    def __init__(self, encoding: str, seconds: float) -> None:
        self.inflater = zlib.decompressobj(47) if encoding else None  # 47: gzip or zlib, as the first bytes say
        self.seconds, self.end, self.size = seconds, time.monotonic() + seconds, 0

    def unpack(self, part: bytes) -> Iterator[bytes]:
        """The unpacked pieces of a part of the body. Raises `ReplyTooLarge`, `ReplyTimeoutError` or `DecodingError`."""
        if time.monotonic() > self.end:
            raise ReplyTimeoutError(f"the reply was still coming after {self.seconds:,.0f} s")
        if self.inflater is None:
            yield self.count(part)
            return
        while part:
            try:
                piece = self.inflater.decompress(part, PIECE)
            except zlib.error as error:
                raise OPENAI_HTTP.DecodingError(str(error)) from None
            if piece:
                yield self.count(piece)
            part = self.inflater.unconsumed_tail

    def count(self, piece: bytes) -> bytes:
        self.size += len(piece)
        if self.size > LARGEST_REPLY:
            raise ReplyTooLarge(f"the reply is larger than {format_megabytes(LARGEST_REPLY)}")
        return piece


class BoundedStream(BodyStream):  # type: ignore[misc]  # a class that is made when the library is known
    """The body of a response within its bounds."""

    def __init__(self, stream: Any, bounds: ReplyBounds) -> None:
        self.stream, self.bounds = stream, bounds

    def __iter__(self) -> Iterator[bytes]:
        for part in self.stream:
            yield from self.bounds.unpack(part)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self.stream:
            for piece in self.bounds.unpack(part):
                yield piece

    def close(self) -> None:
        self.stream.close()

    async def aclose(self) -> None:
        await self.stream.aclose()


def make_bounding_hook(timeout: float | None) -> Callable[[Any], None]:
    """An event hook for the responses of a synchronous client. timeout: the client's, in seconds."""
    seconds = LONGEST_SECONDS if timeout is None else timeout

    def bound_response(response: Any) -> None:
        """Bound the response's body, and hide the address of another server that it wants to send the request to."""
        encoding = response.headers.pop("content-encoding", "").strip().lower().replace("identity", "")
        if encoding not in ("", "gzip", "x-gzip", "deflate"):
            raise OPENAI_HTTP.DecodingError(f"it is packed as {encoding!r}, which was not asked for")
        response.stream = BoundedStream(response.stream, ReplyBounds(encoding, seconds))
        if response.has_redirect_location and not is_same_server(response.request.url, response.headers["location"]):
            response.headers[REFUSED_ADDRESS] = response.headers.pop("location")

    return bound_response


def make_async_bounding_hook(timeout: float | None) -> Callable[[Any], Any]:
    """The same for an asynchronous client."""
    bound_response = make_bounding_hook(timeout)

    async def bound_async_response(response: Any) -> None:
        bound_response(response)

    return bound_async_response


def is_same_server(url: Any, location: str) -> bool:
    """Whether a redirect leads to the same host and port, or from HTTP's usual port to HTTPS's on the same host.

    >>> is_same_server(httpx.URL("http://host/v1/chat"), "/v2/chat"), is_same_server(httpx.URL("http://a"), "//b/v1")
    (True, False)
    """
    try:
        target = url.join(location)
    except (OPENAI_HTTP.InvalidURL, httpx.InvalidURL):
        return False
    before, after = (get_server(one) for one in (url, target))
    return before == after or (before, after) == (("http", url.host, 80), ("https", url.host, 443))


def get_server(url: Any) -> tuple[str, str, int]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme, 0)
