"""A retriever of the user's, `Context(retriever=...)`, is asked in evaluations and comparisons."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from wordvectors import WordVectors

import quorum
from quorum import CallError, Context, SetupError
from quorum.evaluation.comparison import plan_comparison
from quorum.evaluation.run.config_file import read_json_file
from quorum.evaluation.run.options import Options
from quorum.retrievers.identity import identify_retriever

TEXTS = {"1": "The quay of Brae was laid by Ivo Tarn.", "2": "The mill of Orrin was built by Greta Hale."}
RECORDS: list[dict[str, Any]] = [
    {"id": "a", "question": "Who laid the quay of Brae?", "answers": ["Ivo Tarn"], "gold": ["1"]},
    {"id": "b", "question": "Who built the mill of Orrin?", "answers": ["Greta Hale"], "gold": ["2"]},
]


class Papers(BaseRetriever):
    """A retriever that finds the text that names the question's last word, and counts its searches."""

    def _get_relevant_documents(self, query: str, **options: Any) -> list[Document]:
        SEARCHES[query] += 1
        if "mill" in query and BROKEN:
            raise ConnectionError("no route to the papers; token=sk-proj-1234567890abcdef")
        word = query.rstrip("?").split()[-1]
        return [Document(text, id=id_, metadata={"year": 1874}) for id_, text in TEXTS.items() if word in text]


SEARCHES: Counter[str] = Counter()
BROKEN: list[bool] = []
CONTEXT = Context(retriever=Papers(), k=1)
MODEL = FakeListChatModel(responses=["unknown"])


@pytest.fixture(autouse=True)
def reset() -> None:
    SEARCHES.clear()
    BROKEN.clear()


def test_an_evaluation_asks_it_once_for_each_question(tmp_path: Path) -> None:
    evaluation = quorum.evaluate(RECORDS, "concat,post_fusion", context=CONTEXT, out=tmp_path / "out")
    assert [(row["em"], row["recall"]) for row in evaluation.table] == [(1.0, 1.0)] * 2
    assert set(SEARCHES.values()) == {1}
    assert read_json_file(tmp_path / "out" / "config.json")["source"] == {
        "passages": "retriever",
        "retriever": identify_retriever(Papers()),
    }
    assert not (tmp_path / ".quorum" / "chroma").exists()
    assert not Path(".quorum/sample").exists()


async def test_a_comparison_and_its_estimate_ask_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    comparison = await quorum.compare_async(None, RECORDS, methods="concat,sure", context=CONTEXT, out=out)
    assert comparison.best == "concat"
    report = comparison.report.read_text(encoding="utf-8")
    assert f"over {identify_retriever(Papers())}" in report
    (data := tmp_path / "q.jsonl").write_text('{"question": "Who laid the quay of Brae?", "answers": ["Ivo Tarn"]}\n')
    planned = await plan_comparison(Options(data=data, methods="concat", context=replace(CONTEXT, model=MODEL)))
    assert planned.estimate.methods["concat"].input_tokens > len(TEXTS["1"].split())


def test_passages_of_the_questions_are_read_only_if_asked_for() -> None:
    given = [record | {"passages": [{"id": "9", "title": "", "text": "Uma Reis."}]} for record in RECORDS]
    assert quorum.evaluate(given, "concat", context=CONTEXT, out="searched").table[0]["em"] == 1.0
    assert quorum.evaluate(given, "concat", context=CONTEXT, corpus="given", out="given").table[0]["em"] == 0.0


def test_it_is_compared_with_a_retriever_by_name(tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text('{"id": "3", "text": "The ferry of Skell was built by Ida Brenn."}\n')
    comparison = quorum.compare(
        tmp_path / "texts.jsonl", RECORDS, methods="concat,concat[retriever=bm25]", context=CONTEXT, out=tmp_path / "o"
    )
    assert {row["method"]: row["em"] for row in comparison.evaluation.table} == {
        "concat": 1.0,
        "concat[retriever=bm25]": 0.0,
    }


@pytest.mark.parametrize("passages", [{"corpus": "pool"}, {"collection": "papers"}])
def test_passages_that_it_would_not_search_are_refused(passages: dict[str, str]) -> None:
    with pytest.raises(SetupError, match="would not be searched, because the context has a retriever of yours"):
        quorum.evaluate(RECORDS, "concat", context=CONTEXT, **passages)  # type: ignore[arg-type]


def test_another_retriever_needs_another_folder() -> None:
    quorum.evaluate(RECORDS, "concat", context=CONTEXT, out="out")
    SEARCHES.clear()
    same = replace(CONTEXT, retriever=Papers())
    assert quorum.evaluate(RECORDS, "concat", context=same, out="out").table[0]["n"] == 2
    assert not SEARCHES
    with pytest.raises(SetupError, match="another configuration"):
        quorum.evaluate(RECORDS, "concat", context=replace(CONTEXT, retriever=Papers(name="2026")), out="out")


def test_its_failure_fails_one_question() -> None:
    BROKEN.append(True)
    evaluation = quorum.evaluate(RECORDS, "concat", context=CONTEXT, out="out")
    errors = {row["id"]: row["error"] for row in evaluation.rows}
    assert errors["a"] is None
    assert errors["b"] == "The retriever Papers failed (ConnectionError: no route to the papers; token=***)."
    with pytest.raises(CallError, match="The retriever Papers failed"):
        quorum.answer_sync(RECORDS[1]["question"], context=CONTEXT)
    BROKEN.clear()
    assert quorum.evaluate(RECORDS, "concat", context=CONTEXT, out="out").table[0]["em"] == 1.0


def test_a_retriever_of_a_vector_store_is_known_by_its_settings() -> None:
    store = InMemoryVectorStore(WordVectors())
    store.add_texts(list(TEXTS.values()), ids=list(TEXTS))
    names = {
        identify_retriever(store.as_retriever(**options))
        for options in ({}, {"search_kwargs": {"k": 2}}, {"search_type": "mmr"}, {"name": "2026"})
    }
    assert len(names) == 4
    assert identify_retriever(store.as_retriever()) == identify_retriever(
        InMemoryVectorStore(WordVectors()).as_retriever()
    )
    context = Context(retriever=store.as_retriever(search_kwargs={"k": 1}))
    assert quorum.evaluate(RECORDS, "concat", context=context, out="out").table[0]["em"] == 1.0
