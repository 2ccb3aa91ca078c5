"""Measures of what was retrieved: recall, hit, MRR and their intervals."""

import json
from pathlib import Path

import pytest
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.evaluation.metrics.statistics import compute_mean_interval
from quorum.evaluation.run.config_file import read_json_file
from quorum.evaluation.run.evaluate import evaluate
from quorum.evaluation.run.options import Options
from quorum.retrievers.index import index_passages

PARTS = ("hinge", "lever", "spring", "bolt", "wheel", "valve")
CONTEXT = Context(model="embedded", retriever="bm25", k=1, shorten="off")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Six questions about six passages, two for each of three documents. The gold passage of the last one is the second
    that is found.
    """
    passages: list[Passage] = [
        {"id": part, "title": part, "text": f"The {part} costs {number} crowns."} for number, part in enumerate(PARTS)
    ]
    index_passages(passages, collection="parts")
    file = tmp_path / "data.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        for number, part in enumerate(PARTS):
            gold = part if part != "valve" else "wheel"
            question = f"What does the {part}{' valve wheel' if part == 'valve' else ''} cost?"
            record = {"id": part, "question": question, "answers": [str(number)], "gold": [gold]}
            lines.write(json.dumps(record | {"meta": {"document": str(number // 2)}}) + "\n")
    return file


async def test_measures_of_passages_have_the_intervals_of_answers(data: Path, quorum: Quorum) -> None:
    out = data.parent / "out"
    scores = await evaluate(
        Options(data=data, out=out, methods="concat,concat[k=2]", context=CONTEXT, collection="parts")
    )
    one, two = scores.summary.values()
    documents = [number // 2 for number in range(6)]
    for row, values in ((one, [1, 1, 1, 1, 1, 0]), (two, [1, 1, 1, 1, 1, 1])):
        for measure in ("recall", "hit"):
            interval = [row[measure], row[f"{measure}_low"], row[f"{measure}_high"]]
            assert interval == pytest.approx(list(compute_mean_interval(values, documents)), abs=1e-6)
    expected = compute_mean_interval([1, 1, 1, 1, 1, 0.5], documents)
    assert [two["mrr"], two["mrr_low"], two["mrr_high"]] == pytest.approx(list(expected), abs=1e-6)
    differences = read_json_file(out / "comparison.json")[0]["methods"]["concat[k=2]"]
    assert differences["hit"]["difference"] == pytest.approx(1 / 6, abs=1e-6)
    shown = quorum("show", str(out)).out
    assert all(title in shown for title in ("recall", "hit", "MRR"))
    assert f"{100 * one['recall']:.1f} [" in shown


@pytest.fixture
def corpus(data: Path) -> str:
    file = data.with_name("corpus.jsonl")
    lines = (
        {"id": part, "title": part, "text": f"The {part} costs {number} crowns."} for number, part in enumerate(PARTS)
    )
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return str(file)


def test_searches_are_compared_without_a_model(
    data: Path, corpus: str, quorum: Quorum, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUORUM_MODEL", "openai:test")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    words = ("--retrieval-only", "--retrievers", "bm25,chroma", "--k", "1,2", "--out", str(data.parent / "out"))
    run = quorum("compare", corpus, str(data), *words, "--json")
    assert run.code == 0
    result = json.loads(run.out)
    assert not openai_server.requests
    assert list(result["summary"]) == [f"search[retriever={name};k={k}]" for name in ("bm25", "chroma") for k in (1, 2)]
    row = result["summary"]["search[retriever=bm25;k=1]"]
    assert (row["recall"], row["hit"], row["calls"], row["em"]) == (
        pytest.approx(5 / 6, abs=1e-6),
        row["recall"],
        0,
        None,
    )
    assert (result["measure"], result["recommended"]) == ("recall", "search[retriever=bm25;k=2]")
    assert (data.parent / "out" / "report.html").is_file()
    shown = quorum("compare", corpus, str(data), *words).out  # once more, for people
    assert "MRR" in shown
    assert "right, %" not in shown


def test_retrieval_without_gold_passages_is_measured_by_the_answers(data: Path, corpus: str, quorum: Quorum) -> None:
    lines = [{**json.loads(line), "gold": []} for line in data.read_text(encoding="utf-8").splitlines()]
    data.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    words = ("--retrieval-only", "--methods", "search[k=1],search[k=2]", "--set", "retriever=bm25")
    run = quorum("compare", corpus, str(data), *words, "--out", str(data.parent / "out"), "--json")
    result = json.loads(run.out)
    assert (run.code, result["measure"]) == (0, "answer_in_passages")
    assert [row["answer_in_passages"] for row in result["summary"].values()] == [1, 1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--judge openai:test", "--retrieval-only answers nothing, so --judge has no place"),
        ("--race questions", "so --race has no place"),
        ("--models openai:test", "so --models has no place"),
        ("--methods concat", "asks no method, but 'concat' is named"),
        ("--set reranker=listwise", "reranker=listwise would"),
        ("--methods search[reranker=summary]", "reranker=summary would"),
        ("--methods search[collection=nowhere],search", "no collection 'nowhere'"),
    ],
)
def test_what_would_need_an_answer_is_refused(
    data: Path, corpus: str, quorum: Quorum, openai_server: OpenAIServer, words: str, message: str
) -> None:
    run = quorum("compare", corpus, str(data), "--retrieval-only", *words.split())
    assert (run.code, run.out, run.err.count("\n")) == (2, "", 1)
    assert message in run.err
    assert not openai_server.requests


def test_retrieval_that_cannot_be_measured_is_refused(tmp_path: Path, corpus: str, quorum: Quorum) -> None:
    file = tmp_path / "yes.jsonl"
    file.write_text(json.dumps({"id": "q", "question": "Is it?", "answers": ["yes"]}), encoding="utf-8")
    run = quorum("compare", corpus, str(file), "--retrieval-only")
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert "Retrieval cannot be measured" in run.err
    given = quorum("compare", "given", str(file), "--retrieval-only")
    assert given.code == 2
