"""Vectors that a server gets wrong are refused before they are stored or searched with, and the next run recovers."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings
from openai_bodies import DIMENSION, hash_words, make_embeddings
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum import CallError, Context, index
from quorum.core.sync import run_sync
from quorum.models.vectors import check_vectors
from quorum.retrievers import search

TEXTS = {"orm": "The Orm is a river in Vell.", "lumen": "The Lumen Tower stands in the harbour.", "ida": "Ida bakes."}
Change = Callable[[list[Any]], list[Any]]


def change_vectors(change: Change) -> Callable[[dict[str, Any]], Any]:
    """A reply to a request for embeddings whose list of vectors, as lists of numbers, is changed."""

    def make_body(request_body: dict[str, Any]) -> Any:
        body = make_embeddings({**request_body, "encoding_format": "float"})
        return body | {"data": change(body["data"])}

    return make_body


def set_last(value: Any) -> Change:
    """Replace the last vector by a value, or by what a function makes of it."""

    def change(items: list[Any]) -> list[Any]:
        last = items[-1]
        return [*items[:-1], last | {"embedding": value(last["embedding"]) if callable(value) else value}]

    return change


def find(question: str, context: Context) -> list[Any]:
    return list(run_sync(search(question, context)))


# How a reply is wrong -> (the change, words of the error).
FAULTS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "NaN": (change_vectors(set_last(lambda v: [float("nan"), *v[1:]])), "not finite"),
    "infinite": (change_vectors(set_last(lambda v: [float("inf"), *v[1:]])), "not finite"),
    "beyond float32": (change_vectors(set_last(lambda v: [1e300, *v[1:]])), "not finite"),
    "null number": (change_vectors(set_last(lambda v: [None, *v[1:]])), "not finite"),
    "text": (change_vectors(set_last(lambda v: ["much", *v[1:]])), "something else than numbers"),
    "zero": (change_vectors(set_last([0.0] * DIMENSION)), "zeros"),
    "null": (change_vectors(set_last(None)), "no vector"),
    "empty": (change_vectors(set_last([])), "vector of 0 numbers"),
    "short": (change_vectors(set_last(lambda v: v[:-1])), f"vector of {DIMENSION - 1} numbers"),
    "too few": (change_vectors(lambda items: items[:-1]), "2 vectors for 3 texts"),
    "none": (change_vectors(lambda items: []), "no vectors"),
    "same index": (change_vectors(lambda items: [item | {"index": 0} for item in items]), "numbered"),
    "web page": (lambda _: b"<html>Welcome</html>", "check the base URL"),
    "no list": (lambda _: {"message": "busy"}, "vectors"),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rivers.jsonl"
    path.write_text("".join(json.dumps({"id": id_, "title": "", "text": text}) + "\n" for id_, text in TEXTS.items()))
    return path


@pytest.fixture
def context(tmp_path: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> Context:
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url)
    return Context(
        store=str(tmp_path / "store"), collection="rivers", embeddings="openai:vectors", retriever="chroma", k=1
    )


@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_batch_is_refused_and_the_next_run_recovers(
    fault: str, file: Path, context: Context, openai_server: OpenAIServer
) -> None:
    openai_server.make_embeddings, words = FAULTS[fault]
    with pytest.raises(CallError, match=words):
        index(file, collection="rivers", context=context)
    openai_server.make_embeddings = make_embeddings
    assert index(file, collection="rivers", context=context).passages == len(TEXTS)
    assert [passage["id"] for passage in find(TEXTS["lumen"], context)] == ["lumen"]


@pytest.mark.parametrize("fault", [name for name in FAULTS if name not in ("same index", "too few")])
def test_a_wrong_vector_of_a_question_finds_no_random_passage(
    fault: str, file: Path, context: Context, openai_server: OpenAIServer
) -> None:
    index(file, collection="rivers", context=context)
    openai_server.make_embeddings, _ = FAULTS[fault]
    with pytest.raises(CallError):
        find("Where is the Orm?", context)


def test_a_later_batch_of_another_size_is_refused(file: Path, context: Context, openai_server: OpenAIServer) -> None:
    index(file, collection="rivers", context=context)
    openai_server.make_embeddings = change_vectors(
        lambda items: [i | {"embedding": i["embedding"][:-1]} for i in items]
    )
    file.write_text(json.dumps({"id": "new", "title": "", "text": "A mill."}) + "\n")
    with pytest.raises(CallError, match=f"{DIMENSION - 1} numbers beside vectors of {DIMENSION}"):
        index(file, collection="rivers", context=context)


def test_the_index_of_a_vector_says_which_text_it_belongs_to(
    file: Path, context: Context, openai_server: OpenAIServer
) -> None:
    openai_server.make_embeddings = change_vectors(lambda items: random.Random(1).sample(items, len(items)))
    index(file, collection="rivers", context=context)
    openai_server.make_embeddings = make_embeddings
    for id_, text in TEXTS.items():
        assert [passage["id"] for passage in find(text, context)] == [id_]


def test_the_command_says_it_in_one_sentence(
    quorum: Quorum, file: Path, context: Context, openai_server: OpenAIServer
) -> None:
    openai_server.make_embeddings = FAULTS["NaN"][0]
    outcome = quorum(
        "index", str(file), "--collection", "rivers", "--store", context.store, "--embeddings", "openai:vectors"
    )
    assert outcome.code == 1
    assert len(outcome.err.strip().splitlines()) == 1
    assert "nothing of this batch was stored" in outcome.err


def test_an_object_of_the_users_own_is_checked_too(file: Path, tmp_path: Path) -> None:
    class Broken(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[float("nan")] * 3 for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            return [1.0, 0.0, 0.0]

    with pytest.raises(CallError, match="Broken"):
        index(file, collection="rivers", context=Context(store=str(tmp_path / "own"), embeddings=Broken()))


def test_arrays_of_numpy_are_vectors() -> None:
    assert check_vectors(np.eye(2, dtype=np.float32), 2, "The model") == [[1.0, 0.0], [0.0, 1.0]]
    assert check_vectors([], 0, "The model") == []
    assert hash_words("Orm") == check_vectors([hash_words("Orm")], 1, "The model")[0]
