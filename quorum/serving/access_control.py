"""Access control over HTTP: an ASGI wrapper around the API. It requires a key, and gives every request an id."""

import hmac
import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from hashlib import sha256
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from quorum.serving.address import is_loopback
from quorum.serving.errors import Refusal

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = "/health"  # public: monitoring needs no key
PATHS = ("/v1", OPEN, "/metrics", "/openapi.json")
ID = re.compile(r"[\w.:-]{1,100}")
KEY = {"www-authenticate": "Bearer"}


class AccessControl:
    """Access control of an application. tokens: each is a key; without any, only clients on this machine may enter, but
    no website's pages.
    """

    def __init__(self, app: App, tokens: Sequence[str]) -> None:
        self.app, self.tokens = app, tuple(tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        id_ = given if ID.fullmatch(given) else f"req_{token_hex(12)}"

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(b"x-request-id", id_.encode()), (b"x-content-type-options", b"nosniff")]
                message["headers"] = [*message.get("headers", ()), *own, (b"cache-control", b"no-store")]
            await send(message)

        try:
            key = self.check(headers, scope["path"])
        except Refusal as refusal:
            await refusal.respond()(scope, receive, send_with_id)
            return
        scope["state"] = {**scope.get("state", {}), "request_id": id_, "key": key}
        await self.app(scope, receive, send_with_id)

    def check(self, headers: Headers, path: str) -> str:
        """The name under which the request's limits are counted. Raises `Refusal` if the request may not enter."""
        if not self.tokens:
            self.check_local(headers)
            return "local"
        if path == OPEN:
            return "health"
        scheme, _, given = headers.get("authorization", "").partition(" ")
        given = given.strip() if scheme.lower() == "bearer" else ""
        right = [token for token in self.tokens if hmac.compare_digest(given.encode(), token.encode())]
        if not right:
            said = (
                "That is not a key of this server." if given else "This server asks for a key: Authorization: Bearer."
            )
            raise Refusal(401, said, "invalid_api_key", headers=KEY)
        return sha256(b"quorum key " + right[0].encode()).hexdigest()[:16]

    def check_local(self, headers: Headers) -> None:
        """Refuse requests from a foreign site's page, even if its host name points to this machine (DNS rebinding)."""
        host, origin = headers.get("host", ""), headers.get("origin")
        try:
            name, site = urlsplit(f"//{host}").hostname, None if origin is None else urlsplit(origin).netloc
        except ValueError:
            name, site = None, None
        if not is_loopback(name or ""):
            said = "Without a token this server answers on this machine alone, as localhost or 127.0.0.1."
            raise Refusal(403, said, "forbidden_host")
        if site is not None and site != host:
            raise Refusal(403, "Another site's page may not use this server.", "forbidden_origin")


def split_paths(api: App, page: App | None) -> App:
    """One application of two: the API's paths go to the API, all others to the page, if there is one."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        is_api = scope["type"] == "http" and any(path == one or path.startswith(f"{one}/") for one in PATHS)
        await (api if page is None or is_api else page)(scope, receive, send)

    return app
