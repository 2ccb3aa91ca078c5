"""Columns that name the collection that they search: `concat,concat[collection=other]`."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai_server import OpenAIServer

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.comparison import plan_comparison
from quorum.evaluation.report.sentences import list_facts
from quorum.evaluation.run.config_file import read_json_file
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.evaluation.run.score import Scores
from quorum.retrievers.collections import list_collections, list_passages
from quorum.retrievers.index import index_passages

CORPUS = [{"id": "quay", "title": "Quay", "text": "Ivo Tarn laid the quay."}]
OTHER = [{"id": "wall", "title": "Quay", "text": "Greta Hale laid the quay."}]
CONTEXT = Context(model="embedded", k=1, retriever="bm25", shorten="off")


@pytest.fixture(autouse=True)
def collections() -> None:
    index_passages(CORPUS, collection="main")  # type: ignore[arg-type]
    index_passages(OTHER, collection="other")  # type: ignore[arg-type]


def write_questions(path: Path, **fields: Any) -> Path:
    record = {"id": "q", "question": "Who laid the quay?", "answers": ["Ivo Tarn"], **fields}
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_questions(tmp_path / "data.jsonl")


async def run(data: Path, methods: str, context: Context = CONTEXT, **fields: Any) -> Scores:
    return await evaluate(Options(data=data, out=data.parent / "out", methods=methods, context=context, **fields))


def read_passages_by_column(scores: Scores) -> dict[str, list[str]]:
    lines = (scores.folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["method"]: row["passages"] for row in map(json.loads, lines)}


async def test_a_column_searches_the_collection_that_it_names(data: Path) -> None:
    scores = await run(data, "concat,concat[collection=other]", collection="main")
    assert read_passages_by_column(scores) == {"concat": ["quay"], "concat[collection=other]": ["wall"]}
    source = read_json_file(scores.folder / "config.json")["source"]
    assert (source["collection"], source["collections"]["concat[collection=other]"]["name"]) == ("main", "other")
    assert "over main and other" in list_facts(scores.folder, scores.plan.columns, scores.summary)


async def test_columns_may_all_name_collections(data: Path) -> None:
    scores = await run(data, "concat[collection=main],concat[collection=other]")
    assert read_passages_by_column(scores) == {
        "concat[collection=main]": ["quay"],
        "concat[collection=other]": ["wall"],
    }
    assert "over main and other" in list_facts(scores.folder, scores.plan.columns, scores.summary)


async def test_a_corpus_is_indexed_for_the_other_columns_only(data: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"id": "new", "title": "Quay", "text": "Ada Korn laid the quay."}), encoding="utf-8")
    scores = await run(data, "concat,concat[collection=other]", corpus=str(corpus))
    assert read_passages_by_column(scores) == {"concat": ["new"], "concat[collection=other]": ["wall"]}
    assert [passage["id"] for passage in list_passages(Context(collection="other"))] == ["wall"]


@pytest.mark.parametrize("work", [evaluate, plan_comparison])
async def test_an_unknown_collection_is_refused_before_the_first_call(
    data: Path, openai_server: OpenAIServer, work: Any
) -> None:
    methods, context = "concat,concat[collection=others]", Context(model="openai:test", k=1)
    with pytest.raises(SetupError, match=r"no collection 'others' in the store .*there are: main, other\."):
        await work(Options(data=data, methods=methods, context=context, collection="main"))
    assert not openai_server.requests
    assert sorted(list_collections()) == ["main", "other"]


@pytest.mark.parametrize(
    ("methods", "fields", "message"),
    [
        ("concat,concat[collection=other]", {}, r"concat would read the passages that the questions bring"),
        ("concat,concat[collection=other]", {"corpus": "given"}, r"own passages are read"),
        ("concat[collection=other]", {"corpus": "pool"}, r"corpus pool would not be searched"),
        ("concat[collection=]", {"collection": "main"}, r"names an empty collection"),
    ],
)
async def test_what_the_other_columns_read_must_be_clear(
    tmp_path: Path, methods: str, fields: dict[str, Any], message: str
) -> None:
    data = write_questions(tmp_path / "data.jsonl", passages=CORPUS)
    with pytest.raises(SetupError, match=message):
        await run(data, methods, **fields)


async def test_questions_with_passages_search_if_every_column_names_a_collection(tmp_path: Path) -> None:
    scores = await run(write_questions(tmp_path / "data.jsonl", passages=CORPUS), "concat[collection=other]")
    assert read_passages_by_column(scores) == {"concat[collection=other]": ["wall"]}


async def test_a_run_is_not_continued_after_a_change_of_a_named_collection(data: Path) -> None:
    await run(data, "concat,concat[collection=other]", collection="main")
    index_passages([{"id": "mill", "title": "", "text": "A mill."}], collection="other")  # type: ignore[arg-type, list-item]
    with pytest.raises(SetupError, match=r"source\.collections"):
        await run(data, "concat,concat[collection=other]", collection="main")
