"""Evaluations that retrieve: from a collection, from a corpus file, from the pool of the questions' given passages."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai_server import EMBEDDINGS_PATH, OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.score import Scores
from quorum.evaluation.run.source import ProgressCallback, ignore_progress
from quorum.retrievers.collections import list_collections

CONTEXT = {"model": "openai:test", "embeddings": "openai:embed", "k": 2}
TOWN_OF_RIVER = {"Rhine": "Basel", "Thames": "London", "Danube": "Vienna", "Tiber": "Rome"}
# The id of each passage is the id of the question that it answers.
CORPUS = [
    {"id": river, "title": river, "text": f"The {river} flows through {town}."} for river, town in TOWN_OF_RIVER.items()
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file of questions, each with one given passage, which answers another question."""
    path = tmp_path / "data.jsonl"
    other_passages = [*CORPUS[1:], CORPUS[0]]
    lines = [
        {"id": river, "question": f"Which town lies on the {river}?", "answers": [town], "passages": [passage]}
        for (river, town), passage in zip(TOWN_OF_RIVER.items(), other_passages, strict=True)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in CORPUS), encoding="utf-8")
    return path


async def run(
    data: Path, out: str, methods: str = "concat,pruning", progress: ProgressCallback = ignore_progress, **fields: Any
) -> Scores:
    options = Options(data=data, out=data.parent / out, methods=methods, context=Context(**CONTEXT), **fields)
    return await evaluate(options, progress=progress)


def read_passage_ids(scores: Scores) -> dict[str, list[str]]:
    """By question id: the ids of the passages that the last method of results.jsonl used, best first."""
    lines = (scores.folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row["passages"] for row in map(json.loads, lines)}


async def test_a_corpus_is_indexed_once_and_searched_once_for_a_question(
    data: Path, corpus: Path, openai_server: OpenAIServer
) -> None:
    events: list[tuple[str, int, int | None]] = []
    scores = await run(data, "out", corpus=str(corpus), progress=lambda *event: events.append(event))
    assert all(river in ids and len(ids) == 2 for river, ids in read_passage_ids(scores).items())
    assert ("index", 4, 4) in events
    embedded_texts = [request.body["input"] for request in openai_server.requests if request.path == EMBEDDINGS_PATH]
    queries = [texts for texts in embedded_texts if len(texts) == 1]
    assert len(queries) == len(TOWN_OF_RIVER)  # both methods share each search
    bm25_scores = await run(data, "again", methods="concat[retriever=bm25]", corpus=str(corpus))
    assert all(river == ids[0] for river, ids in read_passage_ids(bm25_scores).items())
    assert len(list_collections()) == 1
    request_count = sum(request.path == EMBEDDINGS_PATH for request in openai_server.requests)
    assert request_count == len(embedded_texts)  # nothing is embedded again
    assert json.loads((bm25_scores.folder / "config.json").read_text())["source"]["corpus"] == "corpus.jsonl"


async def test_the_pool_holds_the_passages_of_all_questions(data: Path, openai_server: OpenAIServer) -> None:
    # The passage that answers the first question is given with the last question, which limit=2 leaves out.
    scores = await run(data, "out", corpus="pool", limit=2)
    assert all(river in ids for river, ids in read_passage_ids(scores).items())


async def test_a_named_collection_is_searched_instead_of_the_given_passages(
    data: Path, corpus: Path, openai_server: OpenAIServer
) -> None:
    scores_of_given_passages = await run(data, "given", corpus=None)
    assert all(river not in ids for river, ids in read_passage_ids(scores_of_given_passages).items())
    await run(data, "corpus", corpus=str(corpus))  # makes a collection
    scores = await run(data, "out", collection=list_collections()[0])
    assert all(river in ids for river, ids in read_passage_ids(scores).items())


async def test_a_changed_corpus_is_another_collection(data: Path, corpus: Path, openai_server: OpenAIServer) -> None:
    await run(data, "one", corpus=str(corpus))
    corpus.write_text(json.dumps(CORPUS[0]) + "\n", encoding="utf-8")
    scores = await run(data, "two", corpus=str(corpus))
    assert set(map(tuple, read_passage_ids(scores).values())) == {("Rhine",)}
    # The run "one" cannot be continued: the corpus differs from the one that it began with.
    with pytest.raises(SetupError, match=r"source\.sha256"):
        await run(data, "one", corpus=str(corpus))


@pytest.mark.parametrize(
    ("corpus_text", "message"),
    [
        ("", "holds no passages"),
        ("{", "line 1"),
        ('{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}\n', "cannot be indexed completely"),
    ],
)
async def test_a_broken_corpus_stops_the_run(
    data: Path, corpus: Path, openai_server: OpenAIServer, corpus_text: str, message: str
) -> None:
    corpus.write_text(corpus_text, encoding="utf-8")
    with pytest.raises(SetupError, match=message):
        await run(data, "out", corpus=str(corpus))


async def test_an_unknown_collection_is_named(data: Path, openai_server: OpenAIServer) -> None:
    with pytest.raises(SetupError, match="nowhere"):
        await run(data, "out", collection="nowhere")
