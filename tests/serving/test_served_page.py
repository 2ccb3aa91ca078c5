"""The page of `quorum serve`: what is sent, to whom, and that what is built comes from the sources."""

from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from api_server import Serve

from quorum.page import app
from quorum.serving.named_tokens import derive_cookie

TOKEN = "correct-horse-battery"
FOLDER = Path(app.__file__).parent


def test_the_built_page_comes_from_the_sources() -> None:
    files = [path for path in (FOLDER / "src").rglob("*") if path.is_file()]
    names = sorted(
        path.relative_to(FOLDER).as_posix() for path in (*files, FOLDER / "build.mjs", FOLDER / "package-lock.json")
    )
    digest = sha256()
    for name in names:
        digest.update(f"{name}\n".encode() + (FOLDER / name).read_bytes())
    built = (FOLDER / "built" / "sources.sha256").read_text().strip()
    assert built == digest.hexdigest(), "the sources of the page have changed; run: make page-build"
    sizes = [path.stat().st_size for path in (FOLDER / "built").iterdir() if path.suffix in (".js", ".css", ".html")]
    assert 50_000 < sum(sizes) <= 250_000
    assert "MIT" in (FOLDER / "built" / "LICENSES.txt").read_text()


@pytest.mark.parametrize(
    ("path", "status"), [("/", 200), ("/c/1", 200), ("/documents/a%20b", 200), ("/nothing", 404), ("/page/app.py", 404)]
)
def test_the_page_is_sent_with_a_policy_that_forbids_all_that_is_not_its_own(
    path: str, status: int, serve: Serve
) -> None:
    api = serve(make_other_app=app.make_page)
    reply = api.get(path)
    assert reply.status_code == status
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'self'; ")
    assert "unsafe" not in policy
    script = api.get("/page/app.js")
    assert (script.status_code, script.headers["content-type"].split(";")[0]) == (200, "text/javascript")
    assert api.get("/page/app.js", **{"if-none-match": script.headers["etag"]}).status_code == 304


def test_who_has_shown_the_token_may_use_the_api_from_the_page_alone(serve: Serve) -> None:
    api = serve(make_other_app=app.make_page, access_tokens=(TOKEN, "another-long-token"))
    assert api.get("/").status_code == api.get("/v1/runs").status_code == 401
    name, _, value = api.get(f"/?token={TOKEN}").headers["set-cookie"].partition(";")[0].partition("=")
    assert (name.startswith("quorum_"), value) == (True, derive_cookie(TOKEN))
    cookie = {"cookie": f"{name}={value}"}
    assert api.get("/", **cookie).status_code == api.get("/v1/runs", **cookie).status_code == 200
    host = httpx.URL(api.url).netloc.decode()
    assert api.get("/v1/runs", **cookie, origin=f"http://{host}").status_code == 200
    for foreign in ({"origin": "http://127.0.0.1:1"}, {"sec-fetch-site": "same-site"}, {"origin": "http://[::"}):
        assert api.get("/v1/runs", **cookie, **foreign).status_code == 401
    other = {"cookie": f"{name}={derive_cookie('another-long-token')}"}
    assert api.get("/v1/runs", **other).status_code == 401
