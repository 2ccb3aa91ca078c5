"""What a page shows before a question: methods with their graphs, settings, models, collections."""

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import httpx
import pytest
from api_server import Serve
from openai_server import OpenAIServer
from run_client import make_headers

from quorum import METHODS, Context, index
from quorum.core.context import get_setting_schemas
from quorum.core.settings.groups import group_settings
from quorum.graphs.method_titles import OTHER_FAMILY, TITLES_BY_FAMILY, describe_method

OWNER, OTHER = "the-first-key-of-this-server", "the-second-key-of-this-server"


def test_every_method_is_described_with_its_graph(serve: Serve) -> None:
    api = serve()
    methods = {method["id"]: method for method in api.get("/v1/methods").json()["data"]}
    assert list(methods) == list(METHODS)
    titles = [method["title"] for method in methods.values()]
    assert len(set(titles)) == len(titles)
    for name, method in methods.items():
        nodes = {node for edge in method["edges"] for node in (edge["source"], edge["target"])}
        assert nodes == set(method["nodes"])
        drawing = ET.fromstring(api.get(method["svg"]).text)
        groups = drawing.findall("{http://www.w3.org/2000/svg}g")
        assert {group.get("data-node") for group in groups} - {None} == set(method["nodes"])
        texts = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
        words = [edge["words"] for edge in method["edges"] if edge["words"]]
        assert len([text for text in texts if text in words]) >= len(words)
        assert api.get(f"/v1/methods/{name}").json() == method
    assert "search" in api.get("/v1/methods/concat.svg?open=1").text
    assert api.get("/v1/methods/nothing.svg").status_code == 404


def test_each_method_has_a_plain_name_in_one_family() -> None:
    named = [name for titles in TITLES_BY_FAMILY.values() for name in titles]
    assert sorted(named) == sorted(METHODS)
    assert describe_method("of_a_plugin") == (OTHER_FAMILY, "of_a_plugin")


def test_each_setting_is_in_one_group_and_only_the_allowed_ones_have_a_value(serve: Serve) -> None:
    grouped = [name for names in group_settings().values() for name in names]
    assert sorted(grouped) == sorted(get_setting_schemas())
    groups = serve(k=7).get("/v1/settings").json()["data"]
    settings = {setting["name"]: setting for group in groups for setting in group["settings"]}
    assert sorted(settings) == sorted(grouped)
    assert (settings["k"]["value"], settings["k"]["schema"]["maximum"]) == (7, 50)
    assert settings["retriever"]["schema"]["enum"] == ["hybrid", "chroma", "bm25"]
    for name in ("store", "journal", "prompts", "timeout"):
        assert not settings[name]["may_choose"]
        assert "value" not in settings[name]


def test_only_the_owner_sees_what_the_provider_lists(serve: Serve, openai_server: OpenAIServer) -> None:
    api = serve(access_tokens=(OWNER, OTHER), models=("openai:dear",))
    openai_server.models = ["new", "dear"]
    own, other = (api.get("/v1/providers/models", **make_headers(key)).json() for key in (OWNER, OTHER))
    allowed = [("openai:test", True, True), ("openai:dear", True, False)]
    assert [(model["id"], model["may_choose"], model["is_default"]) for model in other["data"]] == allowed
    assert [(model["id"], model["may_choose"], model["is_default"]) for model in own["data"]] == [
        *allowed,
        ("openai:new", False, False),
    ]
    assert other["note"] is own["note"] is None
    openai_server.close()
    assert "does not list its models" in api.get("/v1/providers/models", **make_headers(OWNER)).json()["note"]


@pytest.fixture
def own_store(store: Path, tmp_path: Path) -> Path:
    """A store with one collection of two documents in a folder."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / name).write_text(f"The file {name} says that the tower was finished in 1931.")
    context = Context(store=str(tmp_path / "store"))
    index(tmp_path / "docs", collection="towers", context=context)
    shutil.copy(tmp_path / "docs" / "a.txt", tmp_path / "c.txt")
    index(tmp_path / "c.txt", collection="notes", context=context)
    return tmp_path / "store"


def test_the_owner_manages_collections_and_others_see_those_they_may_ask(serve: Serve, own_store: Path) -> None:
    api = serve(store=str(own_store), access_tokens=(OWNER, OTHER), collections=None)

    def request(method: str, path: str, key: str = OWNER, **json: Any) -> httpx.Response:
        return httpx.request(method, api.url + path, headers=make_headers(key), timeout=60, **json)

    listed = request("GET", "/v1/collections", OTHER).json()["data"]
    assert [(item["id"], item["is_default"], item["documents"], item["state"]) for item in listed] == [
        ("towers", True, 2, "ready"),
        ("notes", False, 1, "ready"),
    ]
    documents = request("GET", "/v1/collections/towers/documents", OTHER)
    assert [document["name"] for document in documents.json()["data"]] == ["a.txt", "b.txt"]
    assert str(own_store.parent) not in documents.text
    assert request("GET", "/v1/collections/nothing/documents").status_code == 404
    may = [
        [item["id"], item["may_change"], item["may_rename"]]
        for item in request("GET", "/v1/collections").json()["data"]
    ]
    assert may == [["towers", True, False], ["notes", True, True]]
    assert not any(item["may_change"] or item["may_rename"] for item in listed)
    assert request("DELETE", "/v1/collections/notes", OTHER).json()["error"]["code"] == "not_the_owner"
    assert request("DELETE", "/v1/collections/towers").status_code == 409  # the server was started for it
    assert request("PATCH", "/v1/collections/notes", json={"name": "../x"}).status_code == 400
    assert request("PATCH", "/v1/collections/notes", json={"name": 3}).status_code == 400
    assert request("PATCH", "/v1/collections/notes", json={"name": "minutes"}).json()["id"] == "minutes"
    assert request("DELETE", "/v1/collections/minutes").json()["deleted"]
    assert [item["id"] for item in request("GET", "/v1/collections").json()["data"]] == ["towers"]


def test_documents_that_the_servers_filter_keeps_back_are_not_listed(serve: Serve, own_store: Path) -> None:
    api = serve(store=str(own_store), where="source=a.txt")
    [summary] = api.get("/v1/collections").json()["data"]
    assert (summary["passages"], summary["documents"], summary["bytes"]) == (1, 1, None)
    assert [item["name"] for item in api.get("/v1/collections/towers/documents").json()["data"]] == ["a.txt"]


def test_a_collection_that_a_client_may_not_ask_is_not_listed(serve: Serve) -> None:
    api = serve(access_tokens=(OWNER,))
    listed = api.get("/v1/collections", **make_headers(OWNER)).json()["data"]
    assert [item["id"] for item in listed] == ["towers"]
    assert api.get("/v1/collections/private/documents", **make_headers(OWNER)).status_code == 404


def test_the_document_of_the_api_has_every_address_with_an_example(serve: Serve) -> None:
    from quorum.serving.app import make_app
    from quorum.serving.permissions import Permissions
    from quorum.serving.service import Service

    app: Any = make_app(Service(Permissions(Context())))
    served = {
        (method.lower(), route.path.replace(":path", ""))
        for route in app.app.routes
        for method in (route.methods or ())
        if method != "HEAD" and route.path != "/openapi.json"
    }
    paths = serve().get("/openapi.json").json()["paths"]
    described = {(method, path) for path, item in paths.items() for method in item if method != "parameters"}
    assert described == served
    for path in paths:
        if path.startswith(("/v1/runs", "/v1/methods", "/v1/settings", "/v1/providers", "/v1/collections")):
            for method, operation in paths[path].items():
                if method != "parameters":
                    success = next(value for status, value in operation["responses"].items() if status < "204")
                    [content] = success["content"].values()
                    assert content["example"]
                    json.dumps(operation)
