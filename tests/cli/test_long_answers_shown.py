"""Long answers in the terminal: `quorum ask`, `quorum ask --stream`, `quorum chat`, and the report."""

import io
import json
from pathlib import Path

import pytest
from openai_server import OpenAIServer
from quorum_command import Quorum

import quorum as quorum_package
from quorum.evaluation.report.questions import collect_details, open_results

LONG_LINE = "| Lumen Tower | " + "finished in 1931 after a strike of its builders, " * 4 + "[2] |"
ANSWER = f"""\
It was finished in **1931** [2].

{LONG_LINE}

```sh
ls   towers[1]
```"""
PASSAGES = [
    {"id": "m", "title": "Mast", "text": "The Iron Mast was painted in 1950."},
    {"id": "t", "title": "Tower", "text": "It was finished in 1931. It stands in Vell."},
]
QUESTION = "When was the Lumen Tower finished?"


@pytest.fixture
def passages_file(tmp_path: Path, openai_server: OpenAIServer) -> Path:
    file = tmp_path / "passages.jsonl"
    file.write_text("".join(json.dumps(passage) + "\n" for passage in PASSAGES))
    openai_server.reply(f"Answer:\n\n{ANSWER}\n")
    return file


def ask(quorum: Quorum, file: Path, *options: str) -> list[str]:
    settings = ("--model", "openai:test", "--set", "answer_type=long", "--set", "journal=off")
    return list(quorum("ask", QUESTION, "--method", "concat", "--passages", str(file), *settings, *options)[1:])


def test_the_terminal_keeps_the_markdown_and_lists_the_cited_passage_by_its_number(
    quorum: Quorum, passages_file: Path
) -> None:
    out, _ = ask(quorum, passages_file)
    assert out.startswith(f"{ANSWER}\nconcat · ")
    assert "Cited passages\n2. Tower" in out
    assert "[[It was finished in 1931.]] It stands in Vell." in out
    assert out.index("Mast") > out.index("[[It was finished in 1931.]]")  # read, but not cited


def test_a_streamed_answer_is_the_same_text(quorum: Quorum, passages_file: Path) -> None:
    out, err = ask(quorum, passages_file, "--stream")
    assert "finished in **1931** [2].\n\n| Lumen Tower | finished in 1931 after a strike" in err
    assert LONG_LINE in err
    assert out.startswith(f"{ANSWER}\n")


def test_json_holds_the_text_and_the_citations(quorum: Quorum, passages_file: Path) -> None:
    out, _ = ask(quorum, passages_file, "--json")
    result = json.loads(out)
    assert result["answer_text"] == ANSWER
    assert {item["n"] for item in result["citations"]} == {2}
    assert all(result["answer_text"][start:end] == "[2]" for item in result["citations"] for start, end in item["at"])


def test_a_chat_shows_and_saves_the_markdown(
    quorum: Quorum, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("towers.txt").write_text("It was finished in 1931. It stands in Vell.")
    quorum_package.index("towers.txt", collection="towers", context=quorum_package.Context(store="store"))
    text = ANSWER.replace("[2]", "[1]")
    openai_server.reply(text)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{QUESTION}\n/history\n/save talk.md\n"))
    options = ("--store", "store", "--collection", "towers", "--retriever", "bm25", "--set", "answer_type=long")
    out = quorum("chat", "--model", "openai:test", "--method", "concat", *options).out
    assert out.startswith(f"{text}\n   It was finished in 1931.")
    assert "\n  1. towers (towers.txt)\n" in out
    assert f"> {QUESTION}\n{text}\n" in out
    assert f"\n\n{text}\n\n1. towers (towers.txt)\n" in Path("talk.md").read_text()


def test_the_report_shows_the_markdown_and_marks_the_cited_sentence(
    quorum: Quorum, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.reply(ANSWER)
    question = {"id": "q", "question": QUESTION, "answers": ["1931"], "meta": {"answer_type": "long"}}
    Path("data.jsonl").write_text(json.dumps({**question, "passages": PASSAGES}) + "\n")
    options = ("--methods", "concat,rerank", "--models", "openai:test", "--out", "results")
    run = quorum("compare", "given", "data.jsonl", *options)
    assert run.code == 0, run.err
    results, details = open_results(Path("results"))
    with results, details:
        question = collect_details("q", results, details, ["concat", "rerank"])
    shown = question["answers"][0]
    assert shown["headline"] == ANSWER
    [[passage, start, end]] = shown["evidence"]
    assert (question["passages"][passage][0], start, end) == ("t", 0, 24)
