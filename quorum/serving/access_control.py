"""Access control over HTTP: an ASGI wrapper around the API.

It requires a key, limits the size of the body, gives every request an id, and lets the pages of named sites ask.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, MutableMapping
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from quorum.serving.access import Access
from quorum.serving.address import is_loopback
from quorum.serving.client import HEALTH, LOCAL, Client
from quorum.serving.errors import Refusal
from quorum.serving.guard import find_cookies
from quorum.serving.log.record import get_record
from quorum.serving.other_origins import answer_preflight, is_allowed_preflight, make_origin_headers

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PUBLIC_PATH = "/health"  # monitoring needs no key
API_PATHS = ("/v1", PUBLIC_PATH, "/metrics", "/openapi.json")

LARGEST_BODY = 2_000_000  # bytes
LARGEST_UPLOAD = 500_000_000  # bytes of a request with files
UPLOAD_PATH = re.compile(r"/v1/collections/[^/]+/documents")
REQUEST_ID = re.compile(r"[\w.:-]{1,100}")
UNAUTHORIZED_HEADERS = {"www-authenticate": "Bearer"}


class AccessControl:
    """Access control of an application. Without keys, only clients on this machine have access; pages of other websites
    that are open in a browser on this machine have none, unless `access` names their origin.
    """

    def __init__(self, app: App, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given_id = headers.get("x-request-id", "")
        request_id = given_id if REQUEST_ID.fullmatch(given_id) else f"req_{token_hex(12)}"
        added_headers = [(b"x-request-id", request_id.encode()), (b"x-content-type-options", b"nosniff")]
        added_headers += [(b"cache-control", b"no-store"), *make_origin_headers(headers, self.access.origins)]

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *added_headers]
            await send(message)

        scope["state"] = {**scope.get("state", {}), "request_id": request_id}
        record = get_record()
        record.id = request_id
        try:
            if is_allowed_preflight(scope["method"], headers, self.access.origins):
                self.check_host(headers)
                await answer_preflight(headers, send_with_headers)
                return
            client = self.find_client(headers, scope["path"])
            record.client = client.name
            largest = find_largest_body(scope)
            check_length(headers, largest)
        except Refusal as refusal:
            await refusal.respond()(scope, receive, send_with_headers)
            return
        client_left = asyncio.Event()
        scope["state"] |= {"client": client, "client_left": client_left}
        await self.app(scope, notice_disconnect(limit_body(receive, largest), client_left), send_with_headers)

    def find_client(self, headers: Headers, path: str) -> Client:
        """Who sends a request. Raises `Refusal` if the client has no access."""
        self.check_host(headers)
        if self.access.is_open:
            self.check_origin(headers)
            return LOCAL
        if path == PUBLIC_PATH:
            return HEALTH
        if "authorization" not in headers and is_same_origin(headers):
            visitor = self.access.find_by_cookies(find_cookies(headers.get("cookie", ""), r"quorum_\d+"))
            if visitor is not None:
                return visitor
        scheme, _, given_token = headers.get("authorization", "").partition(" ")
        given_token = given_token.strip() if scheme.lower() == "bearer" else ""
        client = self.access.find_by_token(given_token)
        if client is None:
            message = (
                "The key in the header Authorization is not a key of this server, or no longer one; ask whoever runs "
                "the server for one."
                if given_token
                else "This server asks for a key; send it in the header Authorization: Bearer KEY."
            )
            raise Refusal(401, message, "invalid_api_key", headers=UNAUTHORIZED_HEADERS)
        return client

    def check_host(self, headers: Headers) -> None:
        """Raise `Refusal` for a request to another host name than this machine's, if no key is needed.

        This stops a site whose name points to this machine (DNS rebinding).
        """
        try:
            host_name = urlsplit(f"//{headers.get('host', '')}").hostname
        except ValueError:
            host_name = None
        if self.access.is_open and not is_loopback(host_name or ""):
            message = (
                "This server was started without a token, so it answers only requests to localhost or 127.0.0.1; use "
                "one of these names, or start the server with --token TOKEN."
            )
            raise Refusal(403, message, "forbidden_host")

    def check_origin(self, headers: Headers) -> None:
        """Raise `Refusal` for a request from a page of another site."""
        origin = headers.get("origin")
        if origin is None or origin in self.access.origins:
            return
        if get_host(origin) != headers.get("host", ""):
            message = (
                f"This server refuses requests from pages of other websites (Origin: {origin}); whoever runs it can "
                "allow one: --allow-origin ORIGIN."
            )
            raise Refusal(403, message, "forbidden_origin")


def is_same_origin(headers: Headers) -> bool:
    """Whether the page of this server sends a request. (A page that another program of the same host serves has the
    cookie, too, but another origin.)
    """
    origin = headers.get("origin")
    is_same = headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    return is_same and (origin is None or get_host(origin) == headers.get("host", ""))


def get_host(origin: str) -> str | None:
    """The host and port of an origin; None if it is malformed."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def find_largest_body(scope: Scope) -> int:
    """The most bytes of a request's body: more for one with files."""
    has_files = scope["method"] == "POST" and UPLOAD_PATH.fullmatch(scope["path"])
    return LARGEST_UPLOAD if has_files else LARGEST_BODY


def check_length(headers: Headers, largest: int) -> None:
    """Raise `Refusal` (413) for a body whose stated length is too large."""
    length = headers.get("content-length", "0")
    if length.isdecimal() and int(length) > largest:
        raise make_too_large_refusal(largest)


def make_too_large_refusal(largest: int = LARGEST_BODY) -> Refusal:
    return Refusal(
        413, f"The request has more than {largest // 1_000_000} MB; send a shorter one.", "request_too_large"
    )


def limit_body(receive: Receive, largest: int = LARGEST_BODY) -> Receive:
    """Limit a body whose length is not stated: after `largest` bytes, the application is told that the client has
    disconnected.
    """
    received_bytes = 0

    async def receive_limited() -> Message:
        nonlocal received_bytes
        if received_bytes > largest:
            return {"type": "http.disconnect"}
        message = await receive()
        received_bytes += len(message.get("body", b""))
        return message

    return receive_limited


def notice_disconnect(receive: Receive, client_left: asyncio.Event) -> Receive:
    """Set the event when the application is told that the client has disconnected.

    A handler that does not receive the messages itself, such as the tool of an MCP session, can wait for this event.
    """

    async def receive_and_notice() -> Message:
        message = await receive()
        if message["type"] == "http.disconnect":
            client_left.set()
        return message

    return receive_and_notice


def split_paths(api: App, other_app: App | None) -> App:
    """Combine two applications: HTTP requests for API_PATHS go to the API, everything else goes to the other one.

    If there is no other application, everything goes to the API.
    """

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        is_api = scope["type"] == "http" and any(path == item or path.startswith(f"{item}/") for item in API_PATHS)
        await (api if other_app is None or is_api else other_app)(scope, receive, send)

    return app
