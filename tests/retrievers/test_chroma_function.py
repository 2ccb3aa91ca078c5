"""A client of Chroma alone searches Quorum's collections: by vectors always, by texts where quorum is imported."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import chromadb
import pytest
from chromadb.config import Settings
from wordvectors import WordVectors

import quorum
from quorum import Context, SetupError
from quorum.core.state import Passage
from quorum.models import get_embedding_name
from quorum.retrievers.index import index_passages
from quorum.retrievers.store import open_store

TEXTS = {"1": "The quay of Brae was laid by Ivo Tarn.", "2": "The mill of Orrin was built by Greta Hale."}
PASSAGES = [Passage(id=id_, title="", text=text) for id_, text in TEXTS.items()]
QUESTION = "Who built the mill of Orrin?"
PROGRAM = """
import sys
IMPORTS
client = chromadb.PersistentClient(path=sys.argv[1], settings=chromadb.config.Settings(anonymized_telemetry=False))
collection = client.get_collection("papers")
print(collection.get(ids=["1"])["documents"], [item.name for item in client.list_collections()])
print(collection.query(query_embeddings=[[0.1] * 384], n_results=2)["ids"][0])
try:
    print(collection.query(query_texts=["Who built the mill of Orrin?"], n_results=1)["ids"][0])
except ValueError as error:
    print(error)
"""


def open_bare(store: Path | str) -> Any:
    client: Any = chromadb.PersistentClient(
        path=str(Path(store) / "chroma"), settings=Settings(anonymized_telemetry=False)
    )
    return client.get_collection("papers")


@pytest.mark.long  # each starts a process
@pytest.mark.parametrize(
    ("imports", "found"),
    [
        ("import quorum, chromadb", "['2']"),
        ("import chromadb, quorum", "['2']"),
        ("import chromadb", "Embedding function quorum not found"),
    ],
)
def test_a_program_of_its_own_searches_by_texts_once_quorum_is_imported(
    imports: str, found: str, tmp_path: Path
) -> None:
    index_passages(PASSAGES, collection="papers", store=tmp_path)
    program = PROGRAM.replace("IMPORTS", imports)
    command = [sys.executable, "-W", "error" if "quorum" in imports else "ignore", "-c", program, tmp_path / "chroma"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    got, by_vector, by_text = run.stdout.splitlines()
    assert got == f"[{TEXTS['1']!r}] ['papers']"
    assert sorted(by_vector.strip("[]").split(", ")) == ["'1'", "'2'"]
    assert by_text.startswith(found)


def test_texts_are_embedded_as_quorum_embeds_questions(tmp_path: Path) -> None:
    index_passages(PASSAGES, collection="papers", store=tmp_path)
    found = open_bare(tmp_path).query(query_texts=[QUESTION], n_results=1)
    context = Context(store=str(tmp_path), collection="papers", retriever="chroma", k=1)
    [document] = quorum.as_retriever("concat", context).invoke(QUESTION)
    assert found["ids"] == [[document.id]] == [["2"]]
    assert 1 - found["distances"][0][0] == pytest.approx(document.metadata["score"], abs=1e-5)


def test_embeddings_that_are_an_object_are_named(tmp_path: Path) -> None:
    index_passages(PASSAGES, collection="papers", store=tmp_path, embeddings=WordVectors())
    with pytest.raises(SetupError, match=r"embeddings 'wordvectors\.WordVectors:words', .* as query_embeddings"):
        open_bare(tmp_path).query(query_texts=[QUESTION], n_results=1)


def test_a_collection_of_an_older_version_gets_it_when_it_is_written(tmp_path: Path) -> None:
    index_passages(PASSAGES, collection="papers", store=tmp_path)
    store = open_store(tmp_path)
    info = store.find_info("papers")
    assert info is not None
    with store.open_client() as client:
        client.delete_collection("papers")
        configuration: Any = {"hnsw": {"space": "cosine"}}
        client.create_collection(
            "papers", metadata=info.make_metadata(), configuration=configuration, embedding_function=None
        )
    assert open_bare(tmp_path).configuration_json["embedding_function"] == {"type": "legacy"}
    index_passages(PASSAGES, collection="papers", store=tmp_path)
    assert open_bare(tmp_path).configuration_json["embedding_function"]["config"] == {
        "embeddings": get_embedding_name("embedded")
    }
    assert open_bare(tmp_path).query(query_texts=[QUESTION], n_results=1)["ids"] == [["2"]]
