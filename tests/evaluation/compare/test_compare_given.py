"""`quorum compare` over the questions' own passages, and with methods that cannot serve the questions."""

import json
from pathlib import Path

import pytest
from comparison_fixtures import data, reply_as_weak_model, run_comparison
from openai_server import OpenAIServer
from quorum_command import Quorum

__all__ = ["data"]  # a fixture, used by name


@pytest.fixture
def data_with_passages(tmp_path: Path) -> Path:
    """A file of six questions. Each question brings one passage, which holds the answer."""
    lines = [
        {
            "id": f"q{n}",
            "question": f"Who found thing number {n}?",
            "answers": [f"person {n}"],
            "passages": [{"id": f"p{n}", "title": "", "text": f"Thing number {n} was found by person {n}."}],
        }
        for n in range(6)
    ]
    path = tmp_path / "data_with_passages.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


# Each question brings one passage; from the pool, run_comparison retrieves two (k=2).
@pytest.mark.parametrize(("corpus", "passage_count", "source"), [("given", 1, "given"), ("pool", 2, "corpus")])
async def test_the_questions_own_passages_are_a_corpus(
    corpus: str, passage_count: int, source: str, data_with_passages: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(reply_as_weak_model)
    plan, decision = await run_comparison(corpus, data_with_passages, methods="concat,concat_pf")
    folder = decision.scores.folder
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    assert {len(row["passages"]) for row in rows} == {passage_count}
    assert json.loads((folder / "config.json").read_text())["source"]["passages"] == source
    assert plan.estimate is not None
    assert plan.estimate.methods["concat"].calls == 1  # per question
    # In the pool, two methods search for six questions, and the second method reuses the searches of the first.
    assert (decision.spent["searches"], decision.spent["searches_made"]) == ((12, 6) if corpus == "pool" else (0, 0))
    assert (folder / "report.html").exists()
    request_count = len(openai_server.requests)
    _, second_run = await run_comparison(corpus, data_with_passages, methods="concat,concat_pf")
    assert (second_run.scores.new_answers, len(openai_server.requests)) == (0, request_count)


def test_given_passages_must_exist_and_take_no_retriever(
    data: Path, data_with_passages: Path, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    # The questions in `data` bring no passages.
    without_passages = quorum("compare", "given", str(data), "--models", "openai:test")
    assert without_passages.code == 2
    assert "6 of 6 questions in" in without_passages.err
    assert "name a corpus in place of 'given'." in without_passages.err
    with_retriever = quorum(
        "compare", "given", str(data_with_passages), "--models", "openai:test", "--retrievers", "bm25"
    )
    assert (with_retriever.code, "--retrievers bm25 would search nothing" in with_retriever.err) == (2, True)
    assert openai_server.requests == []


def test_the_choice_of_all_methods_leaves_out_those_that_cannot_serve_the_questions(
    data_with_passages: Path, openai_server: OpenAIServer, quorum: Quorum
) -> None:
    claim = {
        "id": "c",
        "question": "Thing number 1 was lost.",
        "answers": ["REFUTES"],
        "meta": {"answer_type": "label"},
    }
    with data_with_passages.open("a", encoding="utf-8") as file:
        file.write(json.dumps(claim | {"passages": [{"id": "x", "title": "", "text": "It was found."}]}) + "\n")
    command = ("compare", "given", str(data_with_passages), "--dry-run", "--models", "openai:test", "--methods")
    all_methods = quorum(*command, "all")
    assert all_methods.code == 0, all_methods.err
    assert "without react: The prompt 'react' does not serve answer_type='label'." in all_methods.err
    table = all_methods.out.split("In all")[0]
    assert [name for name in ("concat ", "post_fusion ", "react ", "cot ") if f"\n{name}" in table] == [
        "concat ",
        "post_fusion ",
    ]
    # A method given by its name is not left out.
    by_name = quorum(*command, "concat,react")
    assert (by_name.code, "react " in by_name.out, by_name.err) == (0, True, "")
    embedded = quorum("compare", "given", str(data_with_passages), "--dry-run", "--methods", "all[k=1]")
    assert (embedded.code, "The embedded reader cannot check claims" in embedded.err) == (2, True)
    assert openai_server.requests == []


def test_an_evaluation_by_all_methods_leaves_out_unsuitable_ones(
    data_with_passages: Path, openai_server: OpenAIServer, quorum: Quorum, caplog: pytest.LogCaptureFixture
) -> None:
    lines = data_with_passages.read_text("utf-8").splitlines()
    claims = [json.loads(line) | {"answers": ["REFUTES"], "meta": {"answer_type": "label"}} for line in lines[:2]]
    data_with_passages.write_text("".join(json.dumps(claim) + "\n" for claim in claims), "utf-8")
    openai_server.reply("REFUTES")
    command = ("eval", str(data_with_passages), "--model", "openai:test", "--out", "out", "--methods")
    all_methods = quorum(*command, "all")
    assert all_methods.code == 0, all_methods.err
    assert "without react: The prompt 'react' does not serve answer_type='label'." in caplog.messages
    summary = json.loads((Path("out") / "summary.json").read_text("utf-8"))
    assert ("concat" in summary, "post_fusion" in summary, "react" in summary) == (True, True, False)
    second_run = quorum(*command, "all")
    assert (second_run.code, "made 0 calls now" in second_run.err) == (0, True)
    by_name = quorum(
        "eval", str(data_with_passages), "--model", "openai:test", "--out", "named", "--methods", "concat,react"
    )
    assert (by_name.code, "'react' does not serve" in by_name.err) == (2, True)
    with_baseline = quorum(*command, "all", "--baseline", "react")
    assert (
        with_baseline.code,
        "The baseline 'react' does not serve these questions: The prompt" in with_baseline.err,
    ) == (2, True)
