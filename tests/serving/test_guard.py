"""Which requests the guard lets through to the page. It checks their host name, token, origin and size."""

import re
from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.errors import SetupError
from quorum.serving.access import Access
from quorum.serving.address import check_address, is_loopback
from quorum.serving.guard import Guard
from quorum.serving.named_tokens import derive_cookie

TOKEN = "a-token-of-some-length"


async def serve_page(scope: Any, receive: Any, send: Any) -> None:
    """An application in place of the page: it reads the whole body and replies with the number of bytes."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        return
    size, more = 0, True
    while more:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


async def send_request(
    headers: dict[str, str] | None = None,
    *,
    token: str | None = None,
    query: str = "",
    path: str = "/",
    kind: str = "http",
    body: tuple[bytes, ...] = (b"",),
) -> tuple[int, dict[str, str], str]:
    """Send a request through a guard. Returns the reply: (status, headers, text).

    token: the guard's token. The status of a WebSocket is 101 if it was accepted, else 403.
    """
    sent_messages: list[Any] = []
    parts = [{"type": "http.request", "body": part, "more_body": part is not body[-1]} for part in body]
    received_messages = iter(parts if kind == "http" else [{"type": "websocket.connect"}])

    async def receive() -> Any:
        return next(received_messages)

    async def send(message: Any) -> None:
        sent_messages.append(message)

    all_headers = {"host": "localhost:8765"} | (headers or {})
    pairs = [(name.encode(), value.encode()) for name, value in all_headers.items()]
    scope = {"type": kind, "path": path, "query_string": query.encode(), "headers": pairs}
    await Guard(serve_page, Access([token] if token else []), port=8765, max_bytes=10)(scope, receive, send)
    if kind == "websocket":
        return (101 if sent_messages[0]["type"] == "websocket.accept" else 403), {}, ""
    reply_headers = {name.decode(): value.decode() for name, value in sent_messages[0]["headers"]}
    return sent_messages[0]["status"], reply_headers, sent_messages[1]["body"].decode()


@pytest.mark.parametrize("host", ["localhost", "localhost:8765", "127.0.0.1:8765", "[::1]:8765", "127.1.2.3"])
async def test_names_of_this_machine_pass(host: str) -> None:
    status, headers, _ = await send_request({"host": host})
    assert status == 200
    assert "default-src 'self'" in headers["content-security-policy"]


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example:8765", "10.0.0.1", "", "127.0.0.1.evil.example", "[", "[::1"]
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
async def test_requests_to_another_host_name_are_refused(host: str, kind: str) -> None:
    status, _, text = await send_request({"host": host}, kind=kind)
    assert (status, "None" in text) == (403, False)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:9999", "http://127.0.0.1:8765", "http://["]
)
@pytest.mark.parametrize("kind", ["http", "websocket"])
async def test_pages_of_other_sites_are_refused(origin: str, kind: str) -> None:
    assert (await send_request({"origin": origin}, kind=kind))[0] == 403
    assert (await send_request({"origin": "http://localhost:8765"}, kind=kind))[0] in (200, 101)


async def test_the_token_becomes_a_cookie() -> None:
    status, _, text = await send_request(token=TOKEN, path="/run/1")
    assert (status, 'name="token"' in text) == (401, True)
    status, headers, text = await send_request(token=TOKEN, path="/run/1", query=f"token={TOKEN}&q=a+%26b")
    # The reply sets the cookie and makes the browser load the same address without the token.
    assert (status, "/run/1?q=a+%26b" in text, TOKEN in text) == (200, True, False)
    cookie = headers["set-cookie"]
    assert cookie == f"quorum_8765={derive_cookie(TOKEN)}; HttpOnly; SameSite=Strict; Path=/"
    cookie_header = {"cookie": "theme=dark; " + cookie.partition(";")[0]}
    assert (await send_request(cookie_header, token=TOKEN))[0] == 200
    assert (await send_request(cookie_header, token=TOKEN, kind="websocket"))[0] == 101
    # With a token, the page answers under any host name.
    assert (await send_request(cookie_header | {"host": "quorum.example"}, token=TOKEN))[0] == 200


@pytest.mark.parametrize("wrong_token", ["", "&token=wrong"])
async def test_the_form_for_the_token_keeps_the_question_and_settings_of_a_link(wrong_token: str) -> None:
    status, _, text = await send_request(token=TOKEN, query="q=a+%26+%22b%22&set=k%3D3&set=&run=1" + wrong_token)
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', text)
    assert status == 401
    assert [(name, unescape(value)) for name, value in fields] == [
        ("q", 'a & "b"'),
        ("set", "k=3"),
        ("set", ""),
        ("run", "1"),
    ]


@pytest.mark.parametrize("query", ["token=", "token=wrong", f"token={TOKEN}x", "q=1"])
async def test_requests_without_the_token_are_refused(query: str) -> None:
    assert (await send_request(token=TOKEN, query=query))[0] == 401
    assert (await send_request(token=TOKEN, query=query, kind="websocket"))[0] == 403
    assert (await send_request({"cookie": f"quorum_8765={derive_cookie('another')}"}, token=TOKEN))[0] == 401


async def test_a_path_that_begins_with_two_slashes_does_not_lead_to_another_site() -> None:
    """A path such as //evil.example must not become a link to another site."""
    _, _, text = await send_request(token=TOKEN, path='//evil.example/"><script>', query=f"token={TOKEN}")
    assert 'url=/evil.example/%22%3E%3Cscript%3E"' in text
    # A browser reads a backslash in an address as a slash.
    _, _, text = await send_request(token=TOKEN, path="/\\evil.example", query=f"token={TOKEN}")
    assert 'url=/%5Cevil.example"' in text


async def test_a_request_that_is_too_large_is_stopped() -> None:
    assert (await send_request(body=(b"12345", b"67890")))[::2] == (200, "10")
    assert (await send_request(body=(b"12345", b"678901")))[0] == 413
    assert (await send_request({"content-length": "11"}))[0] == 413


async def test_a_client_that_disconnects_early_is_no_error() -> None:
    async def late_app(scope: Any, receive: Any, send: Any) -> None:
        """After the client has gone, raises the error that Starlette raises in this case; the guard must hide it."""
        while (await receive())["type"] == "http.request":
            pass
        await send({"type": "http.response.start", "status": 500, "headers": []})
        raise RuntimeError("No response returned.")

    async def silent_app(scope: Any, receive: Any, send: Any) -> None:
        """Raises the same error while the client is still there; the guard must not hide it."""
        await receive()
        raise RuntimeError("No response returned.")

    async def broken_app(scope: Any, receive: Any, send: Any) -> None:
        """Raises another error after the client has gone; the guard must not hide it."""
        while (await receive())["type"] == "http.request":
            pass
        raise RuntimeError("broken")

    async def visit(app: Any) -> None:
        """Send a request through a guard of `app`, then disconnect."""
        messages = iter(({"type": "http.request", "body": b""}, {"type": "http.disconnect"}))

        async def receive() -> Any:
            return next(messages)

        async def send(message: Any) -> None:
            pass

        scope = {"type": "http", "path": "/", "query_string": b"", "headers": [(b"host", b"localhost:8765")]}
        await Guard(app, Access(), port=8765, max_bytes=10)(scope, receive, send)

    await visit(late_app)
    for app, error in ((silent_app, "No response"), (broken_app, "broken")):
        with pytest.raises(RuntimeError, match=error):
            await visit(app)


def test_an_address_for_others_demands_a_token() -> None:
    for host in ("127.0.0.1", "localhost", "::1"):
        assert check_address(host, None) is None
    assert check_address("0.0.0.0", TOKEN) == TOKEN
    with pytest.raises(SetupError, match=r"0\.0\.0\.0 lets others reach the server.*--token"):
        check_address("0.0.0.0", None)
    with pytest.raises(SetupError, match="The token has 5 characters"):
        check_address("127.0.0.1", "short")


@given(st.text(max_size=30))
def test_any_host_name_is_classified(text: str) -> None:
    assert is_loopback(text) in (True, False)
