"""Settings in brackets after a method's name, `concat[collection=other]`, wherever one question is asked."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openai_server import OpenAIServer
from quorum_command import Quorum

import quorum as q
from quorum.core.state import Passage
from quorum.retrievers.index import index_passages

QUESTION = "Who laid the quay?"
MAIN: list[Passage] = [{"id": "quay", "title": "Quay", "text": "Ivo Tarn laid the quay."}]
OTHER: list[Passage] = [{"id": "wall", "title": "Quay", "text": "Greta Hale laid the quay."}]
CONTEXT = q.Context(retriever="bm25", collection="main")


@pytest.fixture(autouse=True)
def collections() -> None:
    index_passages(MAIN, collection="main")
    index_passages(OTHER, collection="other")


async def test_python_asks_the_collection_in_brackets() -> None:
    method = "concat[collection=other;k=1]"
    answers = [
        (await q.answer(QUESTION, method, CONTEXT))["answer"],
        q.answer_sync(QUESTION, method, CONTEXT)["answer"],
        [event async for event in q.stream(QUESTION, method, CONTEXT)][-1].result["answer"],
        q.as_tool(method, CONTEXT).invoke({"question": QUESTION}).splitlines()[0],
    ]
    assert answers == ["Greta Hale"] * 4
    assert [document.id for document in q.as_retriever(method, CONTEXT).invoke(QUESTION)] == ["wall"]
    assert (await q.answer(QUESTION, "concat", CONTEXT))["answer"] == "Ivo Tarn"


def test_the_commands_ask_the_collection_in_brackets(quorum: Quorum, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--retriever", "bm25", "--collection", "main")
    run = quorum("ask", QUESTION, "--method", "concat[collection=other]", "--json", *options)
    assert (run.code, json.loads(run.out)["answer"]) == (0, "Greta Hale")
    lines = [QUESTION, "/method concat[collection=main]", "/new", QUESTION, "/method concat[collection=nowhere]"]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    run = quorum("chat", "--method", "concat[collection=other]", *options)
    assert [name for name in ("Greta Hale", "collection is main", "Ivo Tarn") if name in run.out.splitlines()] == [
        *("Greta Hale", "collection is main", "Ivo Tarn")
    ]
    assert run.err.startswith("quorum: There is no collection 'nowhere'")


@pytest.mark.parametrize(
    ("method", "fields", "message"),
    [
        ("concat[collection=nowhere]", {}, "no collection 'nowhere'"),
        ("concat[collection=]", {}, "names an empty collection"),
        (
            "concat[collection=other]",
            {"given": MAIN},
            "would not search its collection, because given passages are read",
        ),
        ("concat[retriever=bm25]", {"given": MAIN}, "would not search its retriever"),
        ("no_retrieval[collection=other]", {}, "reads no passages"),
        ("concat[k=3", {}, "no method 'concat\\[k=3'"),
        ("concat[k]", {}, "cannot be read"),
        ("concat,sure[k=3]", {}, "cannot be read"),
        ("concat[depth=3]", {}, "no setting 'depth'"),
    ],
)
async def test_what_would_not_be_searched_is_refused(method: str, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(q.SetupError, match=message):
        await q.answer(QUESTION, method, CONTEXT, **fields)


async def test_a_collection_in_brackets_is_not_ignored_beside_a_retriever_of_ones_own() -> None:
    retriever = q.as_retriever("concat", CONTEXT)
    with pytest.raises(q.SetupError, match="a retriever of yours"):
        await q.answer(QUESTION, "concat[collection=other]", q.Context(retriever=retriever))


@pytest.fixture
def files(tmp_path: Path) -> Callable[[str], str]:
    record = {"id": "q", "question": QUESTION, "answers": ["Ivo Tarn"], "passages": MAIN}
    (tmp_path / "given.jsonl").write_text(json.dumps(record), encoding="utf-8")
    (tmp_path / "passages.jsonl").write_text(json.dumps(MAIN[0]), encoding="utf-8")
    return lambda name: str(tmp_path / name)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("ask QUESTION --passages passages.jsonl --set collection=other", "give one of them"),
        ("ask QUESTION --passages passages.jsonl --method concat[collection=other]", "given passages are read"),
        ("ask QUESTION --method react[collection=nowhere]", "no collection 'nowhere'"),
        ("compare passages.jsonl given.jsonl --methods concat --set collection=other", "would change nothing"),
        ("compare given given.jsonl --methods concat --set retriever=bm25", "would change nothing"),
        ("compare given given.jsonl --methods concat,concat[retriever=bm25]", "given passages are read"),
        ("eval given.jsonl --methods concat,concat[retriever=bm25]", "given passages are read"),
        ("eval given.jsonl --corpus pool --methods concat[retriever=nothing]", "no retriever 'nothing'"),
        ("eval given.jsonl --corpus pool --methods no_retrieval[retriever=bm25]", "reads no passages"),
        ("eval given.jsonl --corpus pool --methods concat[where=nothing>2020]", "metadata 'nothing'"),
        ("eval given.jsonl --corpus pool --set collection=other --methods concat", "give one of them"),
        ("chat --method concat[collection=nowhere]", "no collection 'nowhere'"),
    ],
)
def test_the_commands_refuse_what_would_not_be_searched_before_the_first_call(
    quorum: Quorum, openai_server: OpenAIServer, files: Callable[[str], str], words: str, message: str
) -> None:
    arguments = [
        files(word) if word.endswith(".jsonl") else word.replace("QUESTION", QUESTION) for word in words.split()
    ]
    run = quorum(*arguments, "--model" if "compare" not in words else "--models", "openai:test")
    assert (run.code, run.out, run.err.count("\n")) == (2, "", 1)
    assert message in run.err
    assert not openai_server.requests


def test_set_names_the_collection_of_an_evaluation(quorum: Quorum, files: Callable[[str], str], tmp_path: Path) -> None:
    options = ("--set", "collection=other", "--set", "retriever=bm25", "--out", str(tmp_path / "out"))
    assert quorum("eval", files("given.jsonl"), "--methods", "concat", *options).code == 0
    assert json.loads((tmp_path / "out" / "results.jsonl").read_text(encoding="utf-8"))["passages"] == ["wall"]
