"""Browser clients on named sites: what a browser asks before and what it may read after (CORS)."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from api_server import Api, Serve
from named_clients import TeamFile

from quorum.core.errors import SetupError
from quorum.serving.other_origins import check_origins

SITE = "https://chat.example.org"
KEY = "the-first-key-of-this-server"
ASKED = "authorization, content-type, x-stainless-lang"


def ask_before(api: Api, origin: str, path: str = "/v1/chat/completions", **headers: str) -> httpx.Response:
    """What a browser sends before a request of a page: without a key."""
    asked = {"access-control-request-method": "POST", "access-control-request-headers": ASKED}
    return httpx.options(f"{api.url}{path}", headers={"origin": origin, **asked, **headers})


def get_origin_headers(response: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name.startswith("access-control-")}


@pytest.mark.parametrize("tokens", [(), (KEY,), "file"], ids=["open", "key", "file"])
def test_a_page_of_a_named_site_asks(tokens: Any, tmp_path: Path, serve: Serve) -> None:
    file = TeamFile(tmp_path / "tokens.json")
    key = file.add("alice") if tokens == "file" else KEY
    options: dict[str, Any] = {"token_file": file.path} if tokens == "file" else {"access_tokens": tokens}
    api = serve(origins=(SITE,), **options)
    before = ask_before(api, SITE)
    assert before.status_code == 204
    assert before.headers["access-control-allow-origin"] == SITE
    assert before.headers["access-control-allow-headers"] == ASKED
    assert "DELETE" in before.headers["access-control-allow-methods"]
    headers = {"origin": SITE, "authorization": f"Bearer {key}"}
    for method, path in (
        ("GET", "/v1/collections"),
        ("GET", "/v1/collections/none/documents"),
        ("PATCH", "/v1/runs/x"),
    ):
        response = httpx.request(method, api.url + path, headers=headers)
        assert response.status_code in (200, 404)
        assert response.headers["access-control-allow-origin"] == SITE
        assert response.headers["vary"] == "Origin"
        assert "access-control-allow-credentials" not in response.headers
    if tokens:  # a page can read why it is refused
        refused = httpx.get(f"{api.url}/v1/models", headers={"origin": SITE})
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, SITE)


@pytest.mark.parametrize(
    "origin", ["https://elsewhere.example", "null", "http://chat.example.org", f"{SITE}:8443", "*"]
)
@pytest.mark.parametrize("tokens", [(), (KEY,)], ids=["open", "key"])
def test_pages_of_other_sites_get_no_permission(origin: str, tokens: tuple[str, ...], serve: Serve) -> None:
    api = serve(origins=(SITE,), access_tokens=tokens)
    before = ask_before(api, origin)
    assert (before.status_code, get_origin_headers(before)) == (401 if tokens else 403, {})
    after = api.get("/v1/models", origin=origin, authorization=f"Bearer {KEY}")
    assert (after.status_code, get_origin_headers(after)) == (200 if tokens else 403, {})


def test_without_named_sites_nothing_is_said(serve: Serve) -> None:
    api = serve(access_tokens=(KEY,))
    assert ask_before(api, SITE).status_code == 401
    assert "vary" not in api.get("/health").headers


def test_a_named_site_does_not_open_the_server_to_other_host_names(serve: Serve) -> None:
    """A site whose name points to this machine is refused, whatever its page says of itself (DNS rebinding)."""
    api = serve(origins=(SITE,))
    assert ask_before(api, SITE, host="evil.example").status_code == 403
    assert api.get("/v1/models", origin=SITE, host="evil.example").status_code == 403


def test_a_site_on_the_internet_may_ask_a_machine_on_the_local_network(serve: Serve) -> None:
    private = {"access-control-request-private-network": "true"}
    assert ask_before(serve(origins=(SITE,)), SITE, **private).headers["access-control-allow-private-network"] == "true"


def test_odd_header_names_are_not_echoed(serve: Serve) -> None:
    odd = {"access-control-request-headers": "a b\tc; d"}
    before = ask_before(serve(origins=(SITE,)), SITE, **odd)
    assert (before.status_code, "access-control-allow-headers" in before.headers) == (204, False)


def test_origins_are_written_as_browsers_write_them() -> None:
    given = ["HTTPS://Chat.Example.org:443/", SITE, "http://localhost:3000", "http://[::1]:80"]
    assert check_origins(given) == (SITE, "http://localhost:3000", "http://[::1]")


@pytest.mark.parametrize(
    "text", ["*", "https://*.example.org", "chat.example.org", "null", "", f"{SITE}/chat", "ftp://a"]
)
def test_what_is_no_origin_is_refused(text: str) -> None:
    with pytest.raises(SetupError, match="is no origin; name each site as its address without a path"):
        check_origins([text])
