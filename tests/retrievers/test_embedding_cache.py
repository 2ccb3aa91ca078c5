"""The cache of vectors: no text is embedded twice, whatever the collection, and a damaged cache costs only time."""

import logging
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings
from openai_server import OpenAIServer

from quorum.core.state import Passage
from quorum.retrievers.embedding_cache import CACHE_FILE, CachedEmbeddings
from quorum.retrievers.index import index_documents, index_passages
from quorum.retrievers.store import open_store

TEXTS = ["The lake is deep.", "The weir is old.", "The lake is deep."]
EMBEDDING_NAME = "recording"


class RecordingEmbeddings(Embeddings):
    """Vectors of three numbers that depend on the text. `embedded_texts`: all texts given to `embed_documents`."""

    def __init__(self) -> None:
        self.embedded_texts: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded_texts += texts
        return [[float(len(text)), float(ord(text[-2])), 0.1] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(len(text)), 0.0, 0.1]


def test_a_text_is_embedded_once_and_keeps_its_vector(tmp_path: Path) -> None:
    model = RecordingEmbeddings()
    first_vectors = CachedEmbeddings(lambda: model, EMBEDDING_NAME, tmp_path).embed_documents(TEXTS)
    assert model.embedded_texts == TEXTS[:2]
    second_vectors = CachedEmbeddings(lambda: model, EMBEDDING_NAME, tmp_path).embed_documents(TEXTS[::-1])
    assert model.embedded_texts == TEXTS[:2]
    assert second_vectors == first_vectors[::-1]
    assert first_vectors == np.asarray(RecordingEmbeddings().embed_documents(TEXTS), dtype=np.float32).tolist()
    assert (tmp_path / CACHE_FILE).stat().st_mode & 0o777 == 0o600


def test_other_embeddings_have_vectors_of_their_own(tmp_path: Path) -> None:
    model = RecordingEmbeddings()
    for name in ("one", "two"):
        CachedEmbeddings(lambda: model, name, tmp_path).embed_documents(TEXTS[:1])
    assert model.embedded_texts == [TEXTS[0]] * 2


def test_a_damaged_cache_is_reported_once_and_every_text_is_embedded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / CACHE_FILE).write_bytes(b"no database" * 1000)
    model = RecordingEmbeddings()
    cached_embeddings = CachedEmbeddings(lambda: model, EMBEDDING_NAME, tmp_path)
    with caplog.at_level(logging.WARNING, logger="quorum"):
        assert len(cached_embeddings.embed_documents(TEXTS)) == 3
        cached_embeddings.embed_documents(TEXTS[:1])
    assert model.embedded_texts == [*TEXTS[:2], TEXTS[0]]
    assert [record.message.count("cannot be used") for record in caplog.records] == [1]


def test_an_unfinished_write_leaves_the_cache_as_it_was(tmp_path: Path) -> None:
    model = RecordingEmbeddings()
    cached_embeddings = CachedEmbeddings(lambda: model, EMBEDDING_NAME, tmp_path)
    cached_embeddings.embed_documents(TEXTS[:1])
    database = cached_embeddings.connect()
    database.execute("INSERT INTO vectors VALUES (?, ?)", (cached_embeddings.make_key(TEXTS[1]), b"\0" * 12))
    database.close()  # without a commit, like a process that is killed
    assert set(cached_embeddings.read([cached_embeddings.make_key(text) for text in TEXTS])) == {
        cached_embeddings.make_key(TEXTS[0])
    }


def test_a_cache_that_is_too_large_drops_its_oldest_vectors(tmp_path: Path) -> None:
    cached_embeddings = CachedEmbeddings(RecordingEmbeddings, EMBEDDING_NAME, tmp_path)
    small_cache = CachedEmbeddings(RecordingEmbeddings, EMBEDDING_NAME, tmp_path, max_bytes=1)
    texts = [f"Gate {number} opens." for number in range(40)]
    cached_embeddings.embed_documents(texts)
    small_cache.embed_documents(["The last one."])
    remaining_vectors = cached_embeddings.read([cached_embeddings.make_key(text) for text in texts])
    # The older half is dropped; the vector in the middle may belong to either half.
    assert set(remaining_vectors) == {cached_embeddings.make_key(text) for text in texts[20:]} | (
        remaining_vectors.keys() & {cached_embeddings.make_key(texts[19])}
    )


def test_a_second_collection_of_the_same_texts_asks_no_server(tmp_path: Path, openai_server: OpenAIServer) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("The lake is fed by the Sarn.")
    store = tmp_path / "store"
    settings = {"store": store, "embeddings": "openai:embed"}
    index_documents([tmp_path / "docs"], collection="one", **settings)  # type: ignore[arg-type]
    request_count = len(openai_server.requests)
    assert request_count > 0
    index_documents([tmp_path / "docs"], collection="two", **settings)  # type: ignore[arg-type]
    assert len(openai_server.requests) == request_count
    vectors = [
        open_store(store).get_client().get_collection(name).get(include=["embeddings"])["embeddings"]
        for name in ("one", "two")
    ]
    assert np.array_equal(*vectors)


def test_vectors_of_an_embeddings_object_are_not_cached(tmp_path: Path) -> None:
    """Only embeddings that are given by name are cached, because a name says what the vectors depend on."""
    passage = Passage(id="a", title="", text=TEXTS[0])
    for collection in ("one", "two"):
        model = RecordingEmbeddings()
        index_passages([passage], collection=collection, store=tmp_path, embeddings=model)
        assert model.embedded_texts == [TEXTS[0]]
    assert not (tmp_path / CACHE_FILE).exists()


def test_the_cache_is_a_sqlite_database_with_a_row_for_each_text(tmp_path: Path) -> None:
    CachedEmbeddings(RecordingEmbeddings, EMBEDDING_NAME, tmp_path).embed_documents(TEXTS)
    with sqlite3.connect(tmp_path / CACHE_FILE) as database:
        assert database.execute("SELECT COUNT(*) FROM vectors").fetchone() == (2,)
    database.close()
