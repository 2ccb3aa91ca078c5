"""Collections that another program made: they are searched as they are, and nothing is written into them."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings
from quorum_command import Quorum
from wordvectors import WordVectors

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.documents.places import describe_place
from quorum.retrievers import search
from quorum.retrievers.foreign import RECHECK_SECONDS, ContentRevisions, find_recorded_embedding
from quorum.retrievers.index import index_documents
from quorum.retrievers.store import OPEN_STORES, open_store

VECTORS: Any = WordVectors()
TEXTS = ["The quay of Brae was laid by Ivo Tarn.", "The mill of Orrin was built by Greta Hale.", "Ida Brenn bakes."]
METADATA: list[Any] = [{"source": "papers/quays.pdf", "page": 3, "headline": "Quays"}, None, {"year": 1911}]
QUESTION = "Who built the mill of Orrin?"


@contextlib.contextmanager
def open_bare_client(folder: Path) -> Iterator[Any]:
    """A client of Chroma as another program opens it."""
    client: Any = chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))
    yield client
    client.close()


def add_theirs(folder: Path, name: str = "theirs", space: str = "l2", vectors: Any = None, **options: Any) -> None:
    with open_bare_client(folder) as client:
        collection = client.create_collection(name, configuration={"hnsw": {"space": space}}, **options)
        collection.add(
            ids=["1", "2", "3"],
            embeddings=VECTORS.embed_documents(TEXTS) if vectors is None else vectors,
            documents=TEXTS,
            metadatas=METADATA,
        )


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database of another program, which is a folder of Chroma itself."""
    add_theirs(tmp_path / "db", embedding_function=None)
    return tmp_path / "db"


@pytest.fixture
def context(database: Path) -> Context:
    return Context(store=str(database), collection="theirs", embeddings=VECTORS, k=1)


@pytest.mark.parametrize("retriever", ["bm25", "chroma", "hybrid"])
async def test_it_is_searched(retriever: str, context: Context) -> None:
    [passage] = await search(QUESTION, replace(context, retriever=retriever))
    assert (passage["id"], passage["title"], passage["text"]) == ("2", "", TEXTS[1])
    [passage] = await search(
        "Who laid the quay of Brae by Ivo?", replace(context, retriever=retriever, collection=None)
    )
    assert (passage["title"], passage["metadata"]) == ("quays", METADATA[0])
    assert describe_place(passage) == "papers/quays.pdf, p. 3"


@pytest.mark.parametrize("space", ["l2", "cosine", "ip"])
async def test_a_score_is_the_cosine_however_the_collection_compares(space: str, tmp_path: Path) -> None:
    add_theirs(tmp_path / "db", space=space, embedding_function=None)
    [passage] = await search(QUESTION, Context(store=str(tmp_path / "db"), embeddings=VECTORS, retriever="chroma", k=1))
    cosine = float(np.dot(VECTORS.embed_query(QUESTION), VECTORS.embed_documents(TEXTS)[1]))
    assert passage["score"] == pytest.approx(cosine, abs=1e-4)


@pytest.mark.parametrize("retriever", ["bm25", "chroma"])
async def test_the_user_names_the_key_of_the_title(retriever: str, context: Context) -> None:
    context = replace(context, retriever=retriever, title_key="headline")
    assert [passage["title"] for passage in await search("Who laid the quay of Brae by Ivo?", context)] == ["Quays"]


async def test_an_unknown_key_of_the_title_is_an_error(context: Context) -> None:
    with pytest.raises(SetupError, match="has the metadata 'head'; its keys are: headline, page, source, year"):
        await search(QUESTION, replace(context, retriever="bm25", title_key="head"))


async def test_other_embeddings_are_refused(tmp_path: Path) -> None:
    random_vectors = np.random.default_rng(1).normal(size=(3, len(VECTORS.embed_query("a")))).tolist()
    add_theirs(tmp_path / "db", vectors=random_vectors, embedding_function=None)
    context = Context(store=str(tmp_path / "db"), embeddings=VECTORS, k=1)
    with pytest.raises(SetupError, match=r"was made with other embeddings .* have a cosine of .* --retriever bm25"):
        await search(QUESTION, context)
    assert [passage["id"] for passage in await search(QUESTION, replace(context, retriever="bm25"))] == ["2"]


async def test_embeddings_of_another_size_are_refused(tmp_path: Path) -> None:
    add_theirs(tmp_path / "db", vectors=[[1.0, 0.0]] * 3, embedding_function=None)
    with pytest.raises(SetupError, match=r"holds vectors of 2 numbers, but the embeddings .* --embeddings SPEC"):
        await search(QUESTION, Context(store=str(tmp_path / "db"), embeddings=VECTORS))


async def test_the_default_embeddings_of_chroma_are_the_embedded_ones(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from quorum.models import embeddings

    add_theirs(tmp_path / "db", vectors=embeddings("embedded").embed_documents(TEXTS))  # Chroma records its default
    [passage] = await search(QUESTION, Context(store=str(tmp_path / "db"), retriever="chroma", k=1))
    assert passage["id"] == "2"
    assert "Chroma's default embeddings, all-MiniLM-L6-v2; it is searched with the embedded encoder" in caplog.text


@pytest.mark.parametrize(
    ("function", "spec"),
    [
        (None, None),
        ({"type": "legacy"}, None),
        ({"name": "default", "config": {}}, "embedded"),
        ({"name": "sentence_transformer", "config": {"model_name": "all-MiniLM-L6-v2"}}, "embedded"),
        ({"name": "sentence_transformer", "config": {"model_name": "BAAI/bge-small"}}, "huggingface:BAAI/bge-small"),
        ({"name": "openai", "config": {"model_name": "text-embedding-3-small"}}, "openai:text-embedding-3-small"),
        ({"name": "openai", "config": {}}, None),
        ({"name": "their_own", "config": {"model_name": "x"}}, None),
    ],
)
def test_recorded_functions_are_known(function: Any, spec: str | None) -> None:
    assert find_recorded_embedding({"embedding_function": function}) == spec


@pytest.mark.usefixtures("sample_vectors")
def test_nothing_of_quorum_enters_their_folder(context: Context, database: Path, quorum: Quorum) -> None:
    with open_bare_client(database) as client:
        before = client.get_collection("theirs", embedding_function=None).get(include=["documents", "metadatas"])
    names = sorted(path.name for path in database.iterdir())
    assert quorum("ask", QUESTION, "--store", str(database), "--retriever", "bm25").out.splitlines()[0] == "Greta Hale"
    assert quorum("ask", QUESTION, "--store", str(database), "-c", "sample").code == 0
    open_store(database).client.close()  # type: ignore[union-attr]
    assert sorted(path.name for path in database.iterdir()) == names
    assert {"access.lock", "bm25"} <= {path.name for path in Path(".quorum").iterdir()}
    with open_bare_client(database) as client:
        collection = client.get_collection("theirs", embedding_function=None)
        assert collection.get(include=["documents", "metadatas"]) == before
        assert collection.metadata is None


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("index", "docs", "--collection", "own"), "another program's Chroma database"),
        (("index", "docs", "--collection", "theirs"), "another program's Chroma database"),
        (("collections", "rename", "theirs", "mine"), "'theirs' was made by another program"),
        (("collections", "rm", "theirs"), "'theirs' was made by another program"),
    ],
)
def test_their_database_is_not_changed(
    command: tuple[str, ...], message: str, context: Context, database: Path, quorum: Quorum
) -> None:
    Path("docs").mkdir()
    Path("docs/a.txt").write_text("A mill.")
    run = quorum(*command, "--store", str(database))
    assert (run.code, run.out) == (2, "")
    assert message in run.err
    assert open_store(database).list_collections() == ["theirs"]


def test_their_collection_beside_ours_is_listed_and_left_alone(quorum: Quorum) -> None:
    Path("docs").mkdir()
    Path("docs/a.txt").write_text("A mill.")
    index_documents(["docs"], collection="ours", store=".quorum", embeddings=VECTORS)
    OPEN_STORES.get().get.cache_clear()
    add_theirs(Path(".quorum/chroma"), embedding_function=None)
    assert "made by another program" in quorum("collections").out
    listed = json.loads(quorum("collections", "list", "--json").out)
    assert [(item["name"], item["made_for"]) for item in listed] == [("ours", None), ("theirs", "another program")]
    shown = quorum("collections", "show", "theirs")
    assert "papers/quays.pdf: 1 passage" in shown.out
    for command in (("index", "docs", "--collection", "theirs"), ("collections", "rm", "theirs")):
        run = quorum(*command)
        assert (run.code, run.out) == (2, "")
        assert "'theirs' was made by another program, and Quorum only reads it" in run.err
    exported = quorum("collections", "export", "theirs")
    assert len(exported.out.splitlines()) == 3
    assert quorum("collections", "rm", "theirs", "--foreign").code == 0
    assert open_store(".quorum").list_collections() == ["ours"]


async def test_a_passage_that_is_added_is_found(context: Context, database: Path) -> None:
    context = replace(context, retriever="hybrid")
    await search(QUESTION, context)
    with open_store(database).open_client() as client:
        added: Any = client.get_collection("theirs", embedding_function=None)
        added.add(ids=["4"], embeddings=VECTORS.embed_documents(["Zebras graze."]), documents=["Zebras graze."])
    assert [passage["id"] for passage in await search("Do zebras graze?", context)] == ["4"]


def test_a_changed_text_is_noticed_after_a_while() -> None:
    time, rows = [0.0], [{"id": "1", "document": "a", "metadata": None}]
    revisions = ContentRevisions(now=lambda: time[0])
    first = revisions.find("theirs", 1, lambda: rows)
    rows[0]["document"] = "b"
    assert revisions.find("theirs", 1, lambda: rows) == first
    assert revisions.find("theirs", 2, lambda: rows) != first  # another number of passages is noticed at once
    rows[0]["document"] = "c"
    second = revisions.find("theirs", 2, lambda: rows)
    time[0] += RECHECK_SECONDS + 1
    assert revisions.find("theirs", 2, lambda: rows) != second


async def test_a_collection_without_texts_says_so(tmp_path: Path) -> None:
    with open_bare_client(tmp_path / "db") as client:
        client.create_collection("bare", embedding_function=None).add(ids=["1"], embeddings=[[1.0, 0.0]])
        client.create_collection("empty", embedding_function=None)
    for name in ("bare", "empty"):
        for retriever in ("bm25", "chroma"):
            context = Context(store=str(tmp_path / "db"), collection=name, embeddings=VECTORS, retriever=retriever)
            with pytest.raises(SetupError, match=f"collection '{name}' holds"):
                await search(QUESTION, context)
