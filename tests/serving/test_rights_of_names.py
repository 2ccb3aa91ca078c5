"""What a name of the token file may not see, it sees nowhere: every route, tried with a token that may not.

A new route fails `test_every_route_is_classified` until it stands in ROUTES with what becomes of such a request.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_server import Api, Serve, serve_api
from named_clients import OWNER, SECRETS, TeamFile
from openai_server import OpenAIServer
from run_client import ask_run, make_headers, read_run

from quorum import Context
from quorum.page.app import make_page
from quorum.serving.app import make_app
from quorum.serving.permissions import Permissions
from quorum.serving.service import Service

QUESTION = "What opens the safe?"
CHAT = {"model": "concat@private", "messages": [{"role": "user", "content": QUESTION}]}
RUN, DOCUMENTS, UPLOAD = "/v1/runs/{run}", "/v1/collections/{collection}/documents", "/v1/uploads/{upload}"
# (method, path): (status, body) of a request by a name that may ask only the open document of towers, by concat, for
# the collection private, the owner's run and upload, and the method post_fusion. {run}, {document}, {upload}: {id}
ROUTES: dict[tuple[str, str], tuple[int, Any]] = {
    ("GET", "/v1/models"): (200, None),
    ("GET", "/v1/models?all=1"): (200, None),
    ("GET", "/v1/models/concat@private"): (404, None),
    ("POST", "/v1/chat/completions"): (404, CHAT),
    ("GET", "/health"): (200, None),
    ("GET", "/metrics"): (200, None),
    ("GET", "/openapi.json"): (200, None),
    ("GET", "/v1/runs"): (200, None),
    ("POST", "/v1/runs"): (404, {"question": QUESTION, "methods": ["concat"], "collection": "private"}),
    ("GET", RUN): (404, None),
    ("GET", RUN + ".md"): (404, None),
    ("GET", RUN + ".json"): (404, None),
    ("GET", RUN + "/events"): (404, None),
    ("GET", RUN + "/conversation"): (404, None),
    ("GET", RUN + "/calls"): (404, None),
    ("POST", RUN + "/stop"): (404, None),
    ("POST", RUN + "/retry"): (404, {"method": "concat"}),
    ("PATCH", RUN): (404, {"title": "mine"}),
    ("DELETE", RUN): (404, None),
    ("GET", "/v1/methods"): (200, None),
    ("GET", "/v1/methods/post_fusion"): (404, None),
    ("GET", "/v1/methods/post_fusion.svg"): (404, None),
    ("GET", "/v1/efforts?collection=towers"): (200, None),
    ("GET", "/v1/settings"): (200, None),
    ("GET", "/v1/providers/models"): (200, None),
    ("GET", "/v1/collections"): (200, None),
    ("GET", "/v1/collections/{collection}/questions"): (404, None),
    ("PATCH", "/v1/collections/{collection}"): (403, {"name": "mine"}),
    ("DELETE", "/v1/collections/{collection}"): (403, None),
    ("GET", DOCUMENTS): (404, None),
    ("POST", DOCUMENTS): (403, None),
    ("GET", DOCUMENTS + "/{document}"): (404, None),
    ("DELETE", DOCUMENTS + "/{document}"): (403, None),
    ("GET", DOCUMENTS + "/{document}/pages/1.png"): (404, None),
    ("POST", DOCUMENTS + "/{document}/reindex"): (403, None),
    ("GET", "/v1/labels"): (200, None),
    ("GET", "/v1/labels/promise"): (404, None),
    ("POST", "/v1/labels/promise"): (404, {"task": "1", "right": [True]}),
    ("GET", "/v1/uploads"): (403, None),
    ("GET", UPLOAD): (403, None),
    ("GET", UPLOAD + "/events"): (403, None),
    ("POST", UPLOAD + "/cancel"): (403, None),
    ("DELETE", UPLOAD): (403, None),
}
PAGE_PATHS = {
    "/page/{name}",
    "/",
    "/c/{id}",
    "/documents",
    "/documents/{collection}",
    "/compare",
    "/compare/{id}",
    "/label",
    "/label/{name}",
}
PUBLIC = ("/health",)


class Team:
    """A server with an owner, who has asked the collection private and uploaded to it, and the name alice."""

    def __init__(self, api: Api, file: TeamFile, alice: str, names: dict[str, str]) -> None:
        self.api, self.file, self.alice, self.names = api, file, alice, names

    def send(self, method: str, path: str, body: Any, key: str, **names: str) -> httpx.Response:
        address = self.api.url + path.format(**{**self.names, **names})
        headers = make_headers(key) if key else {}
        return httpx.request(method, address, json=body, headers=headers, timeout=60)


@pytest.fixture(scope="module")
def team(team_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    store, file = team_store, TeamFile(tmp_path_factory.mktemp("team") / "tokens.json")
    alice = file.add("alice", collections=("towers",), where="source=open.txt", methods=("concat",))
    context = Context(store=str(store), collection="towers", retriever="bm25", model="embedded")
    options: Any = {"access_tokens": (OWNER,), "collections": ("private",), "token_file": file.path}
    with serve_api(context, make_other_app=make_page, **options) as api:
        run = ask_run(api.url, QUESTION, "concat", key=OWNER, collection="private")
        read_run(api.url, run, key=OWNER)
        documents = api.get("/v1/collections/private/documents", **make_headers(OWNER)).json()["data"]
        towers = api.get("/v1/collections/towers/documents", **make_headers(OWNER)).json()["data"]
        upload = httpx.post(
            f"{api.url}/v1/collections/private/documents",
            files={"files": ("safe.txt", b"A safe stands in Brae.")},
            headers=make_headers(OWNER),
            timeout=60,
        ).json()["id"]
        hidden = {document["name"]: document["id"] for document in towers}
        names = {"collection": "private", "run": run, "upload": upload, "document": documents[0]["id"]}
        names |= {f"{name.rpartition('/')[2].removesuffix('.txt')}_document": id_ for name, id_ in hidden.items()}
        yield Team(api, file, alice, names)


def list_routes() -> set[tuple[str, str]]:
    app: Any = make_app(Service(Permissions(Context())))
    return {(method, route.path) for route in app.app.routes for method in route.methods - {"HEAD"}}


def write_as_route(path: str) -> str:
    """A path of ROUTES as the application writes it."""
    for name, value in (("{run}", "{id}"), ("{document}", "{id}"), ("{upload}", "{id}"), ("/pages/1", "/pages/{page}")):
        path = path.replace(name, value)
    path = path.replace("concat@private", "{model}").replace("methods/post_fusion", "methods/{name}")
    path = path.replace("labels/promise", "labels/{name}")
    return path.partition("?")[0]


def test_every_route_is_classified() -> None:
    assert {(method, write_as_route(path)) for method, path in ROUTES} == list_routes()
    page: Any = make_page(Service(Permissions(Context())), Any, 0)  # type: ignore[arg-type]
    assert {route.path for route in page.app.routes} == PAGE_PATHS


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_a_name_gets_nothing_that_it_may_not_read(route: tuple[str, str], team: Team) -> None:
    method, path = route
    status, body = ROUTES[route]
    response = team.send(method, path, body, team.alice)
    assert response.status_code == status, response.text
    said = response.text.replace("concat@private", "").replace("'private'", "")  # what the request itself has said
    assert [secret for secret in SECRETS if secret in said] == []
    if method == "GET" and status != 200:  # what is kept from the name is there
        owned = team.send(method, path, body, OWNER)
        assert owned.status_code in (200, 204) or "pages" in path or "labels" in path
    if path not in PUBLIC:
        assert team.send(method, path, body, "").status_code == 401
        assert team.send(method, path, body, "quorum_" + "0" * 48).status_code == 401


def test_a_name_reads_what_its_filter_lets_through(team: Team) -> None:
    def read(path: str) -> Any:
        return team.send("GET", path, None, team.alice, collection="towers")

    assert [item["name"].rpartition("/")[2] for item in read(DOCUMENTS).json()["data"]] == ["open.txt"]
    assert "1931" in read(DOCUMENTS + "/{open_document}").text
    for path in ("/{hidden_document}", "/{hidden_document}/pages/1.png"):
        assert read(DOCUMENTS + path).status_code == 404
    [collection] = read("/v1/collections").json()["data"]
    assert (collection["id"], collection["passages"], collection["documents"]) == ("towers", 1, 1)
    assert read("/v1/collections/{collection}/questions").json()["data"] == ["When was the Lumen Tower finished?"]
    questions = team.send("GET", "/v1/collections/towers/questions", None, OWNER).json()["data"]
    assert "Who was the Hidden Stair built by?" in questions
    assert [item["id"] for item in read("/v1/models").json()["data"]] == ["concat"]
    assert [item["id"] for item in read("/v1/methods").json()["data"]] == ["concat"]


@pytest.mark.parametrize(
    "where", [None, "source=hidden.txt", {"$or": [{"source": "hidden.txt"}, {"source": "open.txt"}]}, "source!=x"]
)
def test_no_request_widens_the_filter_of_a_token(where: Any, team: Team) -> None:
    body = {"model": "concat", "messages": [{"role": "user", "content": "Which number opens the vault of the Tower?"}]}
    response = team.send("POST", "/v1/chat/completions", body | {"quorum": {"where": where}}, team.alice)
    assert "7733" not in response.text
    if where == "source=hidden.txt":
        assert (response.status_code, response.json()["error"]["code"]) == (400, "setup")
    else:
        assert [passage["text"] for passage in response.json()["quorum"]["passages"]] != []


@pytest.mark.parametrize("where", ["colour=red", "page>=100", "source>=HR"])
def test_no_error_tells_a_name_with_a_filter_which_metadata_there_are(where: str, team: Team) -> None:
    body = {"model": "concat", "messages": [{"role": "user", "content": QUESTION}], "quorum": {"where": where}}
    refused = team.send("POST", "/v1/chat/completions", body, team.alice)
    assert (refused.status_code, refused.json()["error"]["message"]) == (
        400,
        f"No passage of the collection 'towers' passes where source=open.txt and {where}; widen the filter or leave it "
        "out.",
    )


def test_nothing_passes_a_filter_whose_key_a_collection_lacks(team: Team) -> None:
    key = team.file.add("dora", where="rank=1")
    try:
        response = team.send("GET", "/v1/collections", None, key)
        shown = response.json()["data"]
        assert [item["passages"] for item in shown] == [0, 0]
        assert {item["state"] for item in shown} <= {"ready", "changing"}  # the owner's upload may not be over
        assert team.send("GET", DOCUMENTS, None, key).json()["data"] == []
        body = {"model": "concat@towers", "messages": [{"role": "user", "content": QUESTION}]}
        refused = team.send("POST", "/v1/chat/completions", body, key).json()["error"]["message"]
        assert refused.startswith("No passage of the collection 'towers' passes where rank=1; ")
        assert "the keys are" not in refused
    finally:
        team.file.revoke("dora")


@pytest.mark.parametrize("method", ["post_fusion", "concat>post_fusion", "post_fusion>concat", "nothing"])
def test_a_name_asks_only_the_methods_of_its_token(method: str, team: Team) -> None:
    response = team.send("POST", "/v1/chat/completions", CHAT | {"model": method}, team.alice)
    assert (response.status_code, response.json()["error"]["code"]) == (404, "model_not_found")
    assert team.send("POST", "/v1/runs", {"question": QUESTION, "methods": [method]}, team.alice).status_code == 404


def test_the_page_opens_with_the_token_of_a_name_and_asks_in_its_name(team: Team) -> None:
    url = team.api.url
    opened = httpx.get(f"{url}/?token={team.alice}")
    cookie = {"cookie": opened.headers["set-cookie"].partition(";")[0]}
    assert team.alice not in cookie["cookie"]
    assert httpx.get(f"{url}/", headers=cookie).status_code == 200
    assert [item["id"] for item in httpx.get(f"{url}/v1/collections", headers=cookie).json()["data"]] == ["towers"]
    assert httpx.get(f"{url}/v1/uploads", headers=cookie).status_code == 403
    foreign = cookie | {"origin": "https://elsewhere.example"}
    assert httpx.get(f"{url}/v1/collections", headers=foreign).status_code == 401


def test_runs_are_hidden_as_soon_as_a_name_may_no_longer_read_them(
    tmp_path: Path, serve: Serve, openai_server: OpenAIServer
) -> None:
    file = TeamFile(tmp_path / "tokens.json")
    key = file.add("alice", collections=("towers", "private"))
    api = serve(token_file=file.path, collections=("private",))
    openai_server.reply("4471")
    first = ask_run(api.url, QUESTION, "concat", key=key, collection="private")
    read_run(api.url, first, key=key)
    openai_server.reply("1931")
    second = ask_run(api.url, "When was the Lumen Tower finished?", "concat", key=key)
    read_run(api.url, second, key=key)

    def list_ids() -> list[str]:
        return [run["id"] for run in api.get("/v1/runs", **make_headers(key)).json()["data"]]

    def show(run: str) -> int:
        return api.get(f"/v1/runs/{run}/calls?method=concat", **make_headers(key)).status_code

    assert list_ids() == [second, first]
    file.change("alice", collections=("towers",))
    assert (list_ids(), show(first), show(second)) == ([second], 404, 200)
    follow = {"question": "And then?", "methods": ["concat"], "follows": first}
    assert httpx.post(f"{api.url}/v1/runs", json=follow, headers=make_headers(key)).status_code == 404
    file.change("alice", where="source=towers.jsonl")  # it was asked without this filter
    assert (list_ids(), show(second)) == ([], 404)
    file.change("alice", where=None, collections=None)
    assert list_ids() == [second, first]


def test_a_run_that_follows_another_is_hidden_with_it(
    tmp_path: Path, serve: Serve, openai_server: OpenAIServer
) -> None:
    file = TeamFile(tmp_path / "tokens.json")
    key = file.add("alice", collections=("towers", "private"))
    api = serve(token_file=file.path, collections=("private",))
    runs: list[str] = []
    for number, collection in enumerate(("private", "towers", "towers")):
        openai_server.reply("unknown")
        body = {"question": QUESTION if number == 0 else "And then?", "methods": ["concat"], "collection": collection}
        follows = {"follows": runs[-1]} if runs else {}
        asked = httpx.post(f"{api.url}/v1/runs", json=body | follows, headers=make_headers(key), timeout=60)
        runs.append(asked.json()["id"])
        read_run(api.url, runs[-1], key=key)

    def show() -> list[int]:
        paths = [f"/v1/runs/{run}{part}" for run in runs for part in ("", "/calls?method=concat", "/conversation")]
        return [api.get(path, **make_headers(key)).status_code for path in paths]

    assert set(show()) == {200}
    file.change("alice", collections=("towers",))
    assert set(show()) == {404}


def test_a_revoked_token_is_refused_at_once_and_the_others_are_not(tmp_path: Path, serve: Serve) -> None:
    file = TeamFile(tmp_path / "tokens.json")
    alice, bob = file.add("alice"), file.add("bob")
    api = serve(token_file=file.path, make_other_app=make_page)
    cookie = {"cookie": httpx.get(f"{api.url}/?token={alice}").headers["set-cookie"].partition(";")[0]}
    assert httpx.get(f"{api.url}/v1/runs", headers=cookie).status_code == 200

    def ask(key: str) -> int:
        return api.get("/v1/models", **make_headers(key)).status_code

    assert (ask(alice), ask(bob)) == (200, 200)
    file.revoke("alice")
    assert (ask(alice), ask(bob)) == (401, 200)
    assert httpx.get(f"{api.url}/v1/runs", headers=cookie).status_code == 401
    assert httpx.get(f"{api.url}/", headers=cookie).status_code == 401
    file.revoke("bob")
    assert (ask(bob), ask("none"), api.get("/v1/models").status_code) == (401, 401, 401)  # nobody, not everybody


def test_each_name_has_its_own_limits_and_figures(tmp_path: Path, serve: Serve, openai_server: OpenAIServer) -> None:
    from quorum.serving.named_tokens import Allowance

    file = TeamFile(tmp_path / "tokens.json")
    alice, bob = file.add("alice", limits=Allowance(questions_per_minute=1)), file.add("bob")
    api = serve(token_file=file.path, questions_per_minute=2)
    body = {"model": "concat", "messages": [{"role": "user", "content": QUESTION}]}
    statuses = {}
    for key in (alice, bob):
        statuses[key] = []
        for _ in range(3):
            openai_server.reply("unknown")
            statuses[key].append(api.post(body, **make_headers(key)).status_code)
    assert statuses == {alice: [200, 429, 429], bob: [200, 200, 429]}
    own = api.get("/metrics", **make_headers(alice)).text
    assert 'quorum_questions_total{method="concat",outcome="unknown"} 1\n' in own
