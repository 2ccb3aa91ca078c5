"""Collections on a real Chroma server, which runs on this machine."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings
from quorum_command import Quorum
from retriever_names import PLAIN_RETRIEVERS
from wordvectors import WordVectors

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.retrievers import collections, search
from quorum.retrievers.chroma_client import read_headers
from quorum.retrievers.index import index_documents
from quorum.retrievers.store import OPEN_STORES

VECTORS = WordVectors()


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_listening(port: int) -> bool:
    with contextlib.suppress(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    return False


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Chroma server that this fixture starts for the tests of this file and kills after them."""
    port, chroma = find_free_port(), Path(sys.executable).with_name("chroma")
    command = [str(chroma), "run", "--path", str(tmp_path_factory.mktemp("server")), "--port", str(port)]
    environment = os.environ | {"ANONYMIZED_TELEMETRY": "False"}
    process = subprocess.Popen([*command, "--host", "127.0.0.1"], stdout=subprocess.DEVNULL, env=environment)
    while not is_listening(port):
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise RuntimeError(f"chroma run ended with exit status {process.wait(timeout=0.1)}")
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()


async def test_a_server_is_indexed_and_searched(server: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "rivers.txt").write_text("The Rhine is a river of Germany.")
    (tmp_path / "docs" / "cats.txt").write_text("The tiger is a cat of Asia.")
    report = index_documents([tmp_path / "docs"], collection="remote", store=server, embeddings=VECTORS)
    assert (report.added, report.passages) == (2, 2)
    context = Context(store=server, collection="remote", embeddings=VECTORS, k=1)
    for retriever in PLAIN_RETRIEVERS:
        passages = await search("Which river is in Germany?", replace(context, retriever=retriever))
        assert [passage["title"] for passage in passages] == ["rivers"]
    (tmp_path / "docs" / "rivers.txt").write_text("The Volga is a river of Russia.")
    report = index_documents([tmp_path / "docs"], collection="remote", store=server, embeddings=VECTORS)
    assert (report.replaced, report.unchanged, report.passages) == (1, 1, 2)
    for retriever in PLAIN_RETRIEVERS:
        assert "Volga" in (await search("Which river?", replace(context, retriever=retriever)))[0]["text"]
    assert "remote" in collections.list_collections(server)
    assert len(collections.list_passages(context)) == 2
    assert "the owner of the server" in collections.delete_collection("remote", server)
    with pytest.raises(SetupError, match="no collection 'remote' in the store http://127"):
        await search("Which river?", context)


async def test_the_only_collection_of_a_server_is_asked_and_the_sample_never_enters_it(
    server: str, tmp_path: Path
) -> None:
    (tmp_path / "rivers.txt").write_text("The Rhine is a river of Germany.")
    context = Context(store=server, embeddings=VECTORS, k=1, retriever="bm25")
    assert "Eiffel" in (await search("How tall is the Eiffel Tower?", context))[0]["text"]
    assert collections.list_collections(server) == []
    index_documents([tmp_path / "rivers.txt"], collection="rivers", store=server, embeddings=VECTORS)
    assert (await search("Which river is in Germany?", context))[0]["title"] == "rivers"
    index_documents([tmp_path / "rivers.txt"], collection="second", store=server, embeddings=VECTORS)
    with pytest.raises(SetupError, match=r"The store http://127.* holds 2 collections \(rivers, second\); choose one"):
        await search("Which river is in Germany?", context)
    sample_context = replace(context, collection="sample")
    assert "Eiffel" in (await search("How tall is the Eiffel Tower?", sample_context))[0]["text"]
    assert collections.list_collections(server) == ["rivers", "second"]
    for name in ("rivers", "second"):
        collections.delete_collection(name, server)


async def test_another_programs_collection_in_another_tenant_is_searched_and_listed(
    server: str, monkeypatch: pytest.MonkeyPatch, quorum: Quorum
) -> None:
    settings: Any = {"chroma_api_impl": "chromadb.api.fastapi.FastAPI", "anonymized_telemetry": False}
    port = int(server.rpartition(":")[2])
    admin = chromadb.AdminClient(Settings(chroma_server_host="127.0.0.1", chroma_server_http_port=port, **settings))
    admin.create_tenant("team")
    admin.create_database("papers", tenant="team")
    theirs = chromadb.HttpClient("127.0.0.1", port, tenant="team", database="papers")
    text = "The mill of Orrin was built by Greta Hale."
    collection = theirs.create_collection("theirs", embedding_function=None)
    collection.add(ids=["1"], documents=[text], embeddings=[VECTORS.embed_query(text)])
    OPEN_STORES.get().get.cache_clear()  # as if this process had not asked the server yet
    monkeypatch.setenv("CHROMA_TENANT", "team")
    monkeypatch.setenv("CHROMA_DATABASE", "papers")
    monkeypatch.setenv("CHROMA_HEADERS", '{"X-Team": "search"}')
    context = Context(store=server, embeddings=VECTORS, k=1)
    for retriever in PLAIN_RETRIEVERS:
        [passage] = await search("Who built the mill of Orrin?", replace(context, retriever=retriever))
        assert passage["text"] == text
    assert "made by another program" in quorum("collections", "--store", server).out
    assert quorum("collections", "rm", "theirs", "--store", server).code == 2
    assert collection.count() == 1
    OPEN_STORES.get().get.cache_clear()


@pytest.mark.parametrize("headers", ["token", "[1]", '{"X-Team": 1}'])
def test_headers_that_are_no_texts_are_an_error(headers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROMA_HEADERS", headers)
    with pytest.raises(SetupError, match="CHROMA_HEADERS is no JSON object of texts"):
        read_headers()


@pytest.mark.parametrize("retriever", ["hybrid", "bm25"])
async def test_no_server_is_an_error_that_says_how_to_start_one(retriever: str) -> None:
    port = find_free_port()
    context = Context(store=f"http://127.0.0.1:{port}", collection="remote", embeddings=VECTORS, retriever=retriever)
    with pytest.raises(SetupError, match=f"No Chroma server answers .* chroma run --host 127.0.0.1 --port {port}"):
        await search("Which river?", context)
