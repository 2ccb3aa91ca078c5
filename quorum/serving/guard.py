"""Controls access to the page: an ASGI wrapper around its HTTP requests and WebSockets.

Without a token, the page answers only requests whose Host header names this machine; another host name is a sign of DNS
rebinding. An address that other machines can reach needs a token. A request whose Origin header names
another host is always refused.
"""

import re
from base64 import b64encode
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from hashlib import sha256
from html import escape
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from quorum.serving.access import Access
from quorum.serving.address import is_loopback
from quorum.serving.errors import Refusal
from quorum.serving.named_tokens import derive_cookie

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

STYLE = (
    ":root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}"
    "body{max-width:24rem;margin:20vh auto;padding:0 1rem}input,button{font:inherit;padding:.4rem .6rem}"
)
CONTENT_POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    f"style-src 'self' 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"  # of the guard's own pages
)
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
# For the pages that the guard itself sends, such as a refusal.
PAGE_TEMPLATE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">{head}'
    f"<title>Quorum</title><style>{STYLE.replace('{', '{{').replace('}', '}}')}</style>"
    "<body>{body}</body></html>"
)
TOKEN_FORM = (
    "<h1>Quorum</h1><p>{message}</p><form>{hidden_fields}"
    '<label>Token <input name="token" type="password" autofocus></label> <button>Open</button></form>'
)


class RequestTooLarge(Exception):  # noqa: N818  an internal signal, not an error that a user sees
    """The body of a request is too large."""


class Guard:
    """Lets permitted requests through, and adds headers that forbid the browser to load from other hosts.

    access: who may open the page, with the first key or a token of the token file, given first as ?token= and then as a
    cookie; if it is open, only this machine. max_bytes: the largest body of a request.
    """

    def __init__(self, app: App, access: Access, *, port: int, max_bytes: int) -> None:
        self.app, self.access, self.max_bytes = app, access, max_bytes
        self.headers = (*SECURITY_HEADERS, (b"content-security-policy", CONTENT_POLICY.encode()))
        self.cookie_name = f"quorum_{port}"  # all ports of a host share their cookies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self.find_refusal(headers)
        if refusal:
            await refuse_request(scope, receive, send, 403, refusal)
            return
        try:
            if not self.access.is_open and not self.has_valid_cookie(headers):
                await self.ask_for_token(scope, receive, send)
                return
        except Refusal as unusable:  # the token file
            await refuse_request(scope, receive, send, unusable.status, unusable.message)
            return
        await self.forward(scope, headers, receive, send)

    def find_refusal(self, headers: MutableMapping[str, str]) -> str | None:
        """Why the host or the origin of a request is refused, even if it has the token; None if they are allowed."""
        host, origin = headers.get("host", ""), headers.get("origin")
        try:
            host_name, origin_host = urlsplit(f"//{host}").hostname, None if origin is None else urlsplit(origin).netloc
        except ValueError:
            return "The Host or Origin header of this request is invalid."
        if self.access.is_open and not is_loopback(host_name or ""):
            return f"This page can be opened only on its own machine, at localhost or 127.0.0.1, not at {host!r}."
        if origin_host is not None and origin_host != host:
            return f"A page of another site, {origin}, sent this request; only this page itself is allowed to."
        return None

    def has_valid_cookie(self, headers: MutableMapping[str, str]) -> bool:
        return self.access.find_by_cookies(find_cookies(headers.get("cookie", ""), self.cookie_name)) is not None

    async def ask_for_token(self, scope: Scope, receive: Receive, send: Send) -> None:
        """If ?token= is correct, set the cookie and reload the page at the same address without ?token=; else show a
        form that asks for the token, and that keeps the other parameters of the address.
        """
        pairs = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        given_tokens = [value for name, value in pairs if name == "token"]
        other_pairs = [pair for pair in pairs if pair[0] != "token"]
        token = next((given for given in given_tokens if self.access.find_visitor(given) is not None), None)
        if scope["type"] != "http" or token is None:
            message = (
                "This token is wrong."
                if given_tokens
                else "This page needs a token; ask whoever runs the server for one."
            )
            form = TOKEN_FORM.format(message=message, hidden_fields=make_hidden_fields(other_pairs))
            await refuse_request(scope, receive, send, 401, form, is_html=True)
            return
        other_parameters = urlencode(other_pairs)
        path = "/" + quote(scope["path"].lstrip("/")) + ("?" + other_parameters if other_parameters else "")
        # Not a redirect: if the visitor came from a link on another site, the browser would follow the redirect without
        # the new cookie, which is SameSite=Strict.
        head = f'<meta http-equiv="refresh" content="0;url={escape(path)}">'
        cookie = f"{self.cookie_name}={derive_cookie(token)}; HttpOnly; SameSite=Strict; Path=/"
        await send_reply(send, 200, PAGE_TEMPLATE.format(head=head, body=""), (b"set-cookie", cookie.encode()))

    async def forward(self, scope: Scope, headers: MutableMapping[str, str], receive: Receive, send: Send) -> None:
        """Let the page answer. A request that is too large is refused. A visitor who leaves early causes no error."""
        has_response_begun, has_visitor_left, received_bytes = False, False, 0

        async def receive_counted() -> Message:
            nonlocal received_bytes, has_visitor_left
            message = await receive()
            has_visitor_left = has_visitor_left or message["type"] == "http.disconnect"
            received_bytes += len(message.get("body", b"")) if message["type"] == "http.request" else 0
            if received_bytes > self.max_bytes:
                raise RequestTooLarge
            return message

        async def send_with_headers(message: Message) -> None:
            nonlocal has_response_begun
            if message["type"] == "http.response.start":
                has_response_begun = True
                message["headers"] = [*message.get("headers", ()), *self.headers]
            await send(message)

        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self.max_bytes:
            await refuse_request(scope, receive, send, 413, describe_size_limit(self.max_bytes))
            return
        try:
            await self.app(scope, receive_counted, send_with_headers)
        except RequestTooLarge:
            if not has_response_begun:
                await refuse_request(scope, receive, send, 413, describe_size_limit(self.max_bytes))
        except RuntimeError as error:  # Starlette's middleware raises this when the client has gone
            if not has_visitor_left or str(error) != "No response returned.":
                raise


def find_cookies(given: str, name_pattern: str) -> list[str]:
    """The values of the page's cookies in a Cookie header. name_pattern: of their names."""
    return [str(value) for value in re.findall(rf"(?:^|;\s*){name_pattern}=([0-9a-f]{{64}})(?=\s*(?:;|$))", given)]


def make_hidden_fields(pairs: Sequence[tuple[str, str]]) -> str:
    """HTML: a hidden field of a form for each (name, value)."""
    return "".join(f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">' for name, value in pairs)


def describe_size_limit(max_bytes: int) -> str:
    return f"A request may have {max_bytes // 1_000_000} MB at most."


async def refuse_request(
    scope: Scope, receive: Receive, send: Send, status: int, message: str, *, is_html: bool = False
) -> None:
    """Send a page with the message; is_html: the message is HTML, not text. A WebSocket is closed before it opens."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    await send_reply(
        send, status, PAGE_TEMPLATE.format(head="", body=message if is_html else f"<p>{escape(message)}</p>")
    )


async def send_reply(send: Send, status: int, text: str, *extra_headers: tuple[bytes, bytes]) -> None:
    """Send a complete HTML response."""
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"cache-control", b"no-store"),
        *SECURITY_HEADERS,
        (b"content-security-policy", CONTENT_POLICY.encode()),
        *extra_headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
