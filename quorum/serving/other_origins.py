"""Lets browser clients on named sites ask the API: cross-origin resource sharing (CORS, WHATWG Fetch, section 3.2).

Pages of these sites send a token of their own; no response allows credentials, so that the cookie of this server's own
page is of no use to them.
"""

import re
from collections.abc import Awaitable, Callable, Collection, MutableMapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from quorum.core.errors import SetupError

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
METHODS = b"GET, POST, PATCH, DELETE"
READABLE_HEADERS = (
    b"x-request-id, location, retry-after, content-disposition, mcp-session-id, "
    b"quorum-marked, quorum-page, quorum-pages"
)
HEADER_NAMES = re.compile(r"[\w!#$%&'*+.^`|~-]+(?:\s*,\s*[\w!#$%&'*+.^`|~-]+)*", re.ASCII)
LONGEST_HEADER_NAMES = 2000  # characters
SECONDS_TO_REMEMBER = b"600"  # how long a browser need not ask again


def check_origins(origins: Sequence[str]) -> tuple[str, ...]:
    """The origins of --allow-origin as browsers write them. Raises `SetupError` for what is no origin.

    >>> check_origins(["https://Chat.example.org/", "http://localhost:3000"])
    ('https://chat.example.org', 'http://localhost:3000')
    """
    return tuple(dict.fromkeys(map(read_origin, origins)))


def read_origin(text: str) -> str:
    given = text.strip()
    try:
        parts = urlsplit(given)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    is_bare = parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username or parts.password)
    if parts.scheme not in ("http", "https") or not parts.hostname or "*" in given or not is_bare:
        raise SetupError(
            f"--allow-origin {given[:200]!r} is no origin; name each site as its address without a path, for example "
            "https://chat.example.org or http://localhost:3000."
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    is_default = port is None or port == {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + ("" if is_default else f":{port}")


def make_origin_headers(headers: Headers, origins: Collection[str]) -> list[tuple[bytes, bytes]]:
    """What lets a page of an allowed site read the response; for others nothing does."""
    if not origins:
        return []
    vary, origin = [(b"vary", b"Origin")], headers.get("origin")
    if origin not in origins:
        return vary
    allow = (b"access-control-allow-origin", str(origin).encode("latin-1"))
    return [*vary, allow, (b"access-control-expose-headers", READABLE_HEADERS)]


def is_allowed_preflight(method: str, headers: Headers, origins: Collection[str]) -> bool:
    """Whether a browser asks if a page of an allowed site may send a request. It sends no key with this question."""
    return method == "OPTIONS" and headers.get("origin") in origins and "access-control-request-method" in headers


async def answer_preflight(headers: Headers, send: Send) -> None:
    """Allow the request that a browser asks about: the handlers decide what becomes of it."""
    asked = headers.get("access-control-request-headers", "")
    names = asked if len(asked) <= LONGEST_HEADER_NAMES and HEADER_NAMES.fullmatch(asked) else ""
    answer = [(b"access-control-allow-methods", METHODS), (b"access-control-max-age", SECONDS_TO_REMEMBER)]
    if names:
        answer.append((b"access-control-allow-headers", names.encode("latin-1")))
    if headers.get("access-control-request-private-network") == "true":
        answer.append((b"access-control-allow-private-network", b"true"))
    await send({"type": "http.response.start", "status": 204, "headers": answer})
    await send({"type": "http.response.body", "body": b""})
