"""What the tests of the HTTP API share: a store with two collections, and servers on this machine."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from api_server import Api, Serve, serve_api
from log_pipe import LogPipe
from named_clients import make_store
from openai_server import OpenAIServer

from quorum import Context, index

# With a Markdown link, because a test checks that the server escapes it.
TOWER_TEXT = "The Lumen Tower was finished in 1931. It stands in the harbour of Vell [map](http://elsewhere.example/x)."
SECRET_TEXT = "The safe of the Iron Mast opens with the number 4471."


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the collections towers and private."""
    folder = tmp_path_factory.mktemp("api")
    for name, text in (("towers", TOWER_TEXT), ("private", SECRET_TEXT)):
        file = folder / f"{name}.jsonl"
        file.write_text(json.dumps({"id": name, "title": name.title(), "text": text}) + "\n")
        index(file, collection=name, context=Context(store=str(folder / "store")))
    return folder / "store"


@pytest.fixture(scope="session")
def team_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the collections towers, whose document hidden.txt is not for all, and private."""
    return make_store(tmp_path_factory.mktemp("team store"))


@pytest.fixture
def serve(store: Path, openai_server: OpenAIServer) -> Iterator[Serve]:
    """A function that starts a server over the collection towers. The server stops when the test ends.

    Its keyword arguments are settings (fields of `Context`) and options of `serve_api`. The server's model is the test
    server `openai_server`, whose replies a test chooses.
    """
    servers: list[Any] = []

    def start(**settings_and_options: Any) -> Api:
        settings: dict[str, Any] = {
            "store": str(store),
            "collection": "towers",
            "retriever": "bm25",
            "model": "openai:test",
            "attempts": 1,
        }
        options: dict[str, Any] = {}
        for name, value in settings_and_options.items():
            (settings if name in Context.__dataclass_fields__ else options)[name] = value
        server = serve_api(Context(**settings), **options)
        servers.append(server)
        return server.__enter__()

    yield start
    openai_server.release_held_replies()
    for server in servers:
        server.__exit__(None, None, None)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LogPipe]:
    """A log file from which lines are read as they come. A test names it before `serve`, which then ends first."""
    pipe = LogPipe(tmp_path / "requests.jsonl")
    yield pipe
    pipe.close()
