"""The server's own collection if its owner named none: the only one of the store, as it is when a request comes."""

from pathlib import Path

import openai
import pytest
from api_server import Serve
from openai_server import OpenAIServer

from quorum import Context, index
from quorum.cli.serve import allow_own_collections
from quorum.cli.server_options import read_names
from quorum.serving.permissions import Permissions
from quorum.serving.requested_collection import RequestedCollections
from quorum.serving.serve import Options


@pytest.fixture
def empty_store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def add_collection(name: str, text: str, store: Path) -> None:
    file = store.parent / f"{name}.txt"
    file.write_text(text)
    index(file, collection=name, context=Context(store=str(store)))


def list_models(api: object) -> list[str]:
    models: list[str] = [item["id"] for item in api.get("/v1/models?all=1").json()["data"]]  # type: ignore[attr-defined]
    return [name for name in models if name.partition("@")[0] == "concat"]


def test_the_only_collection_is_served_as_it_is_now(
    empty_store: Path, serve: Serve, openai_server: OpenAIServer
) -> None:
    api = serve(store=str(empty_store), collection=None)
    assert list_models(api) == ["concat", "concat@sample"]
    add_collection("towers", "The Lumen Tower was finished in 1931.", empty_store)
    assert list_models(api) == ["concat", "concat@towers"]
    openai_server.reply("1931")
    assert "1931" in api.ask().choices[0].message.content
    openai_server.reply("unknown")
    answer = api.ask("When was the tower painted?").choices[0].message
    assert answer.content.startswith("unknown\n\nSearched: the collection towers (1 passage).\n\nPassages read:\n1. ")
    add_collection("masts", "The Iron Mast was finished in 1950.", empty_store)
    assert list_models(api) == []
    with pytest.raises(openai.BadRequestError, match="several collections; ask whoever runs the server") as refusal:
        api.ask()
    assert (refusal.value.code, "masts" in str(refusal.value)) == ("collection_not_chosen", False)


def test_clients_choose_one_of_several_collections(
    empty_store: Path, serve: Serve, openai_server: OpenAIServer
) -> None:
    add_collection("towers", "The Lumen Tower was finished in 1931.", empty_store)
    add_collection("masts", "The Iron Mast was finished in 1950.", empty_store)
    api = serve(store=str(empty_store), collection=None, collections=None)
    assert list_models(api) == ["concat@masts", "concat@towers"]
    with pytest.raises(openai.BadRequestError, match="write METHOD@COLLECTION, for example concat_pf@masts"):
        api.ask()
    openai_server.reply("1931")
    assert "1931" in api.ask(model="concat@towers").choices[0].message.content


def test_names_of_collections_and_the_store_stay_hidden(empty_store: Path, serve: Serve) -> None:
    from quorum.retrievers.store import open_store

    with open_store(empty_store).open_client() as client:
        for name in ("theirs", "others"):
            client.create_collection(name, embedding_function=None)
    api = serve(store=str(empty_store), collection=None)
    with pytest.raises(openai.BadRequestError, match="This server has several collections") as refusal:
        api.ask()
    assert "theirs" not in str(refusal.value)
    assert str(empty_store) not in str(refusal.value)


@pytest.mark.parametrize(
    ("tokens", "collections", "collection", "served"),
    [
        ((), "", None, ["notes", "towers"]),
        ((), "", "towers", ["towers"]),
        ((), "notes", None, ["notes"]),
        (("a-token-of-16-letters",), "", None, []),
    ],
)
def test_a_server_for_this_machine_alone_serves_all_collections(
    empty_store: Path, tokens: tuple[str, ...], collections: str, collection: str | None, served: list[str]
) -> None:
    add_collection("notes", "Notes of 1931.", empty_store)
    add_collection("towers", "Towers of 1932.", empty_store)
    context = Context(store=str(empty_store), collection=collection)
    given = Options(access_tokens=tokens, collections=read_names(collections))
    permissions = Permissions(context, allow_own_collections(given, collections, context).collections)
    assert permissions.list_collections() == served
    assert RequestedCollections(permissions).may_make() == (len(served) == 2)
