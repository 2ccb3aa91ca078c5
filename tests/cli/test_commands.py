"""The `quorum` command: what it prints on stdout and on stderr, and its exit codes."""

import json
from pathlib import Path

import pytest
from openai_bodies import make_error
from openai_server import OpenAIServer, Request
from quorum_command import CommandOutcome, Quorum

from quorum.evaluation.shown.support import ShownResult
from quorum.graphs import METHODS

TOWER_TEXT = "The tower was finished in 1889. Gustave Eiffel's company built it in Paris."
PASSAGES = [
    {"id": "a", "title": "Eiffel Tower", "text": TOWER_TEXT},
    {"id": "b", "title": "Rome", "text": "Rome has no such tower."},
]


@pytest.fixture
def passages_file(tmp_path: Path) -> str:
    """The path of a file that holds PASSAGES."""
    path = tmp_path / "passages.jsonl"
    path.write_text("".join(json.dumps(passage) + "\n" for passage in PASSAGES), encoding="utf-8")
    return str(path)


def reply_as_reader(request: Request) -> str:
    """Answer if the prompt shows the passage about the tower and not the one about Rome; else reply "unknown"."""
    return "1889" if TOWER_TEXT in request.text and "Rome has no" not in request.text else "unknown"


@pytest.fixture
def ask(quorum: Quorum, openai_server: OpenAIServer, passages_file: str) -> Quorum:
    """A function that runs `quorum ask` with PASSAGES and a scripted model that reads them."""
    openai_server.reply(reply_as_reader)

    def run(*args: str) -> CommandOutcome:
        return quorum(
            "ask", "When was the tower finished?", "--passages", passages_file, "--model", "openai:test", *args
        )

    return run


def test_ask_prints_the_answer_then_the_evidence_as_plain_text(ask: Quorum) -> None:
    run = ask()
    assert (run.code, run.err) == (0, "")
    lines = run.out.splitlines()
    assert lines[0] == "1889"
    assert lines[1].startswith("concat_pf · confidence 1.00 · 3 calls · ")
    assert "finished in [[1889]]" in run.out
    assert "1. Eiffel Tower" in run.out
    assert "Rome has no" not in run.out  # the passages that do not hold the answer are named, not printed
    assert "\x1b" not in run.out
    assert max(map(len, lines)) <= 100


def test_ask_says_unknown_when_no_passage_answers(ask: Quorum, openai_server: OpenAIServer) -> None:
    openai_server.reply("unknown")
    run = ask("--method", "concat")
    assert run.code == 0
    assert run.out.splitlines()[0] == "unknown"
    assert "No passage supports an answer." in run.out


def test_ask_prints_the_whole_result_as_json(ask: Quorum) -> None:
    run = ask("--json")
    result = json.loads(run.out)
    assert set(result) == set(ShownResult.__annotations__)
    assert (result["answer"], result["unknown"], result["confidence"]) == ("1889", False, 1.0)
    assert result["evidence"] == [{"passage": "a", "start": 26, "end": 30}]
    assert run.err == ""


def test_a_trace_shows_nodes_prompts_and_replies(ask: Quorum) -> None:
    run = ask("--trace")
    for part in (
        "concat_pf",
        "concat_answer",
        "answer: passage 1",
        "answer: passage 2",
        "-> 1889",
        "tokens in",
        TOWER_TEXT[:40],
    ):
        assert part in run.out
    assert run.out.index(TOWER_TEXT[:40]) < run.out.rindex("finished in [[1889]]")  # the result stands below the trace
    assert run.out.index("concat_answer") < run.out.index("answer: passage 1") < run.out.index("[[1889]]")


def test_a_trace_beside_json_goes_to_stderr(ask: Quorum) -> None:
    run = ask("--trace", "--json")
    assert json.loads(run.out)["answer"] == "1889"
    assert "concat_answer" in run.err


def test_a_stream_reports_every_node_as_it_ends(ask: Quorum) -> None:
    run = ask("--stream")
    first_words = [line.split()[0] for line in run.err.splitlines()]
    assert [first_words[0], *first_words[-3:]] == [
        "begin",
        "vote",
        "find_evidence",
        "1889",
    ]  # the answer follows the last node
    assert first_words.count("passage_answer") == 2
    assert run.out.splitlines()[0] == "1889"


def test_the_embedded_reader_reads_a_question_with_bytes_that_are_not_utf_8(
    quorum: Quorum, passages_file: str, tmp_path: Path
) -> None:
    """Python turns such a byte of the command line into a lone surrogate, which no tokenizer and no file accepts."""
    trace = tmp_path / "trace.json"
    run = quorum(
        "ask", "Which company built the tower? \udcff", "--passages", passages_file, "--save-trace", str(trace)
    )
    assert (run.code, run.err) == (0, "")
    assert json.loads(trace.read_text(encoding="utf-8"))["question"] == "Which company built the tower? \ufffd"


def test_settings_reach_the_run(ask: Quorum, openai_server: OpenAIServer) -> None:
    assert ask("--method", "concat", "--set", "temperature=0.5", "--set", "samples=3").code == 0
    assert [request.body["temperature"] for request in openai_server.chats()] == [0.5] * 3


def test_a_call_that_fails_for_good_is_exit_code_1(ask: Quorum, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(400, "no such parameter"))
    run = ask("--method", "concat")
    assert (run.code, run.out) == (1, "")
    assert run.err.count("\n") == 1
    assert "no such parameter" in run.err


def test_a_trace_shows_what_failed(ask: Quorum, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(400, "no such parameter"))
    run = ask("--method", "concat", "--trace")
    assert run.code == 1
    assert "concat_answer" in run.out
    assert "no such parameter" in run.out


@pytest.mark.parametrize("corpus_option", [(), ("--corpus", "given")])
def test_a_retriever_that_no_method_needs_is_mentioned(
    quorum: Quorum, tmp_path: Path, openai_server: OpenAIServer, corpus_option: tuple[str, ...]
) -> None:
    question = {"id": "1", "question": "Where?", "answers": ["Paris"], "passages": PASSAGES}
    (tmp_path / "data.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    openai_server.reply("Paris")
    options = ["--methods", "concat,pf_concat", "--model", "openai:test", "--retriever", "bm25", *corpus_option]
    run = quorum("eval", "data.jsonl", *options)
    assert run.code == 0
    assert "--retriever bm25 was not used" in run.err
    assert [line.split()[:3] for line in run.out.splitlines()][1:3] == [
        ["concat", "1", "100.0"],
        ["pf_concat", "1", "100.0"],
    ]


def test_failed_questions_are_counted_with_their_cause_and_make_exit_code_1(
    quorum: Quorum, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    question = {"id": "1", "question": "Where?", "answers": ["Paris"], "passages": PASSAGES}
    (tmp_path / "data.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    openai_server.reply(make_error(400, "not today"))
    run = quorum("eval", "data.jsonl", "--methods", "concat", "--model", "openai:test")
    assert run.code == 1
    assert "errors" in run.out.splitlines()[0]
    assert "1 answer failed (" in run.err
    assert "not today); run the same command again to ask only the questions that failed." in run.err


def test_the_commonest_cause_of_failures_is_named(quorum: Quorum, tmp_path: Path, openai_server: OpenAIServer) -> None:
    questions = [
        {"id": str(n), "question": f"Where is number {n}?", "answers": ["Paris"], "passages": PASSAGES}
        for n in range(4)
    ]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(q) + "\n" for q in questions), encoding="utf-8")
    openai_server.reply([*(make_error(400, reason) for reason in ("rarely", "often", "often")), "Paris"])
    command = ("eval", "data.jsonl", "--methods", "concat", "--model", "openai:test", "--concurrency", "1")
    command = (*command, "--set", "structured=off")  # a refused schema would be asked again without it
    run = quorum(*command)
    assert "3 answers failed (2 of them: " in run.err
    assert "often); run the same command again" in run.err
    openai_server.reply("Paris")
    second_run = quorum(*command)
    assert second_run.code == 0
    assert "failed" not in second_run.err


def test_methods_are_listed(quorum: Quorum) -> None:
    run = quorum("methods")
    assert run.code == 0
    assert all(name in run.out for name in METHODS)


def test_methods_are_printed_as_json(quorum: Quorum) -> None:
    rows = json.loads(quorum("methods", "--json").out)
    assert [row["name"] for row in rows] == list(METHODS)
    assert all(set(row) == {"name", "paper", "summary", "calls", "depth"} for row in rows)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_drawn_in_mermaid(quorum: Quorum, name: str) -> None:
    run = quorum("methods", name, "--diagram")
    assert run.code == 0
    assert "graph TD" in run.out
    assert "begin" in run.out
