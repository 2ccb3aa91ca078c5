"""Who may use the page: an ASGI wrapper around all of it, HTTP and WebSockets alike.

On this machine alone it answers to the names of this machine (another name means that a foreign site points at it: DNS
rebinding); for other addresses it demands a token. What another site's page sends is refused either way.
"""

import hmac
import re
from collections.abc import Awaitable, Callable, MutableMapping
from hashlib import sha256
from html import escape
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from quorum.serving.address import is_loopback

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">{head}'
    "<title>Quorum</title><style>:root{{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}}"
    "body{{max-width:24rem;margin:20vh auto;padding:0 1rem}}input,button{{font:inherit;padding:.4rem .6rem}}</style>"
    "<body>{body}</body></html>"
)
ASK_TOKEN = (
    '<h1>Quorum</h1><p>{said}</p><form><label>Token <input name="token" type="password" autofocus></label> '
    "<button>Open</button></form>"
)


class TooLarge(Exception):  # noqa: N818  it reads as what it says
    """A request brought more than it may."""


class Guard:
    """Lets through what may pass, and adds the headers that keep a browser from asking anyone else.

    token: demanded of every request, once as ?token= and then as a cookie; None on this machine alone. largest: bytes
    that a request may bring.
    """

    def __init__(self, app: App, token: str | None, *, port: int, largest: int) -> None:
        self.app, self.token, self.largest = app, token, largest
        self.cookie = f"quorum_{port}"  # cookies are shared by the ports of a host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        said = self.refusal(headers)
        if said:
            await refuse(scope, receive, send, 403, said)
        elif self.token is not None and not self.has_cookie(headers):
            await self.ask_token(scope, receive, send, self.token)
        else:
            await self.let_in(scope, headers, receive, send)

    def refusal(self, headers: MutableMapping[str, str]) -> str | None:
        """Why a request is refused whoever sends it; None: it is not."""
        host, origin = headers.get("host", ""), headers.get("origin")
        try:
            name, site = urlsplit(f"//{host}").hostname, None if origin is None else urlsplit(origin).netloc
        except ValueError:
            return "The request names no host that there can be."
        if self.token is None and not is_loopback(name or ""):
            return "This page answers on this machine alone, as localhost or 127.0.0.1."
        if site is not None and site != host:
            return "Another site's page may not use this one."
        return None

    def has_cookie(self, headers: MutableMapping[str, str]) -> bool:
        given = re.findall(rf"(?:^|;\s*){self.cookie}=([0-9a-f]*)", headers.get("cookie", ""))
        return any(hmac.compare_digest(one, key_of(self.token or "")) for one in given)

    async def ask_token(self, scope: Scope, receive: Receive, send: Send, token: str) -> None:
        """A right ?token= becomes a cookie, and the page is opened again without it; else a form asks for it."""
        pairs = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in pairs if name == "token"]
        right = [hmac.compare_digest(one.encode(), token.encode()) for one in given]
        if scope["type"] != "http" or not any(right):
            said = "That is not the token." if given else "This page asks for its token."
            await refuse(scope, receive, send, 401, ASK_TOKEN.format(said=said), markup=True)
            return
        rest = urlencode([pair for pair in pairs if pair[0] != "token"])
        path = "/" + quote(scope["path"].lstrip("/")) + ("?" + rest if rest else "")
        # Not a redirect: where another site's link led here, a browser would not send the new cookie along with it.
        head = f'<meta http-equiv="refresh" content="0;url={escape(path)}">'
        cookie = f"{self.cookie}={key_of(token)}; HttpOnly; SameSite=Strict; Path=/"
        await reply(send, 200, PAGE.format(head=head, body=""), (b"set-cookie", cookie.encode()))

    async def let_in(self, scope: Scope, headers: MutableMapping[str, str], receive: Receive, send: Send) -> None:
        """The page itself. A body that is too large is broken off; a visitor who leaves early is no error."""
        begun, left, came = False, False, 0

        async def counted() -> Message:
            nonlocal came, left
            message = await receive()
            left = left or message["type"] == "http.disconnect"
            came += len(message.get("body", b"")) if message["type"] == "http.request" else 0
            if came > self.largest:
                raise TooLarge
            return message

        async def answered(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self.largest:
            await refuse(scope, receive, send, 413, too_large(self.largest))
            return
        try:
            await self.app(scope, counted, answered)
        except TooLarge:
            if not begun:
                await refuse(scope, receive, send, 413, too_large(self.largest))
        except RuntimeError as error:  # what Starlette's middleware makes of an answer that nobody waits for
            if not left or str(error) != "No response returned.":
                raise


def key_of(token: str) -> str:
    """What the cookie holds: not the token itself."""
    return sha256(b"quorum page " + token.encode()).hexdigest()


def too_large(largest: int) -> str:
    return f"At once no more than {largest // 1_000_000} MB are taken."


async def refuse(scope: Scope, receive: Receive, send: Send, status: int, said: str, *, markup: bool = False) -> None:
    """A refusal in words; a WebSocket is closed before it opens."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    await reply(send, status, PAGE.format(head="", body=said if markup else f"<p>{escape(said)}</p>"))


async def reply(send: Send, status: int, text: str, *more: tuple[bytes, bytes]) -> None:
    """A whole response of HTML."""
    own = [(b"content-type", b"text/html; charset=utf-8"), (b"cache-control", b"no-store"), *HEADERS, *more]
    await send({"type": "http.response.start", "status": status, "headers": own})
    await send({"type": "http.response.body", "body": text.encode()})
