"""The `quorum` command: what it prints where, its exit codes, and one sentence for every mistake."""

import json
from pathlib import Path

import pytest
from openai_bodies import make_error
from openai_server import OpenAIServer, Request
from quorum_command import CommandOutcome, Quorum

from quorum.evaluation.support import ShownResult
from quorum.graphs import METHODS

TOWER_TEXT = "The tower was finished in 1889. Gustave Eiffel's company built it in Paris."
PASSAGES = [
    {"id": "a", "title": "Eiffel Tower", "text": TOWER_TEXT},
    {"id": "b", "title": "Rome", "text": "Rome has no such tower."},
]


@pytest.fixture
def passages(tmp_path: Path) -> str:
    path = tmp_path / "passages.jsonl"
    path.write_text("".join(json.dumps(passage) + "\n" for passage in PASSAGES), encoding="utf-8")
    return str(path)


def reply_as_reader(request: Request) -> str:
    """Answer if the passage about the tower is the only passage; reply "unknown" to both passages together."""
    return "1889" if TOWER_TEXT in request.text and "Rome has no" not in request.text else "unknown"


@pytest.fixture
def ask(quorum: Quorum, openai_server: OpenAIServer, passages: str) -> Quorum:
    """A function that runs `quorum ask` with the passages of this file and a scripted model that reads them."""
    openai_server.reply(reply_as_reader)

    def run(*args: str) -> CommandOutcome:
        return quorum("ask", "When was the tower finished?", "--passages", passages, "--model", "openai:test", *args)

    return run


def test_ask_prints_the_answer_then_the_evidence_as_plain_text(ask: Quorum) -> None:
    run = ask()
    assert (run.code, run.err) == (0, "")
    lines = run.out.splitlines()
    assert lines[0] == "1889"
    assert lines[1].startswith("concat_pf · confidence 1.00 · 3 calls · ")
    assert "finished in [[1889]]" in run.out
    assert "1. Eiffel Tower" in run.out
    assert "Rome" not in run.out
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
    assert run.out.rstrip().splitlines()[-1] != ""
    assert run.out.index("concat_answer") < run.out.index("answer: passage 1") < run.out.index("[[1889]]")


def test_a_trace_beside_json_goes_to_stderr(ask: Quorum) -> None:
    run = ask("--trace", "--json")
    assert json.loads(run.out)["answer"] == "1889"
    assert "concat_answer" in run.err


def test_a_stream_reports_every_node_as_it_ends(ask: Quorum) -> None:
    run = ask("--stream")
    words = [line.split()[0] for line in run.err.splitlines()]
    assert [words[0], *words[-2:]] == ["begin", "vote", "1889"]
    assert words.count("passage_answer") == 2
    assert run.out.splitlines()[0] == "1889"


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


def test_a_retriever_that_no_method_needs_is_mentioned(
    quorum: Quorum, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    question = {"id": "1", "question": "Where?", "answers": ["Paris"], "passages": PASSAGES}
    (tmp_path / "data.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    openai_server.reply("Paris")
    run = quorum("eval", "data.jsonl", "--methods", "concat,pf_concat", "--model", "openai:test", "--retriever", "bm25")
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
    assert "not today); the same command again asks only those." in run.err


def test_the_commonest_cause_of_failures_is_named(quorum: Quorum, tmp_path: Path, openai_server: OpenAIServer) -> None:
    questions = [
        {"id": str(n), "question": f"Where is number {n}?", "answers": ["Paris"], "passages": PASSAGES}
        for n in range(4)
    ]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(q) + "\n" for q in questions), encoding="utf-8")
    openai_server.reply([*(make_error(400, reason) for reason in ("rarely", "often", "often")), "Paris"])
    command = ("eval", "data.jsonl", "--methods", "concat", "--model", "openai:test", "--concurrency", "1")
    run = quorum(*command)
    assert "3 answers failed (2 of them: " in run.err
    assert "often); the same" in run.err
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


def test_help_names_every_command(quorum: Quorum) -> None:
    run = quorum("--help")
    assert run.code == 0
    assert all(command in run.out for command in ("ask", "methods", "index", "eval", "experiment"))


ASK_COMMAND = ("ask", "Who?")
EVAL_COMMAND = ("eval", "questions.jsonl", "--methods")
COMMANDS_WITH_MISTAKES: list[tuple[tuple[str, ...], str]] = [
    (("ask", ""), "question"),
    (("ask", "  \n "), "question"),
    ((*ASK_COMMAND, "--k", "0"), "k=0"),
    ((*ASK_COMMAND, "--k", "-3"), "k=-3"),
    ((*ASK_COMMAND, "--k", "five"), "--k"),
    ((*ASK_COMMAND, "--method", "concat-pf"), "did you mean concat_pf?"),
    ((*ASK_COMMAND, "--method", "zzz"), "concat_pf"),
    ((*ASK_COMMAND, "--set", "colour=red"), "'colour'"),
    ((*ASK_COMMAND, "--set", "k"), "key=value"),
    ((*ASK_COMMAND, "--set", "=3"), "key=value"),
    ((*ASK_COMMAND, "--set", "k=3", "--set", "k=4"), "twice"),
    ((*ASK_COMMAND, "--set", "k=3", "--k", "4"), "give one of them"),
    ((*ASK_COMMAND, "--set", "k=many"), "k='many'"),
    ((*ASK_COMMAND, "--set", "temperature=9"), "temperature=9"),
    ((*ASK_COMMAND, "--set", "vote=some"), "all, staged"),
    ((*ASK_COMMAND, "--retriever", "google"), "google"),
    ((*ASK_COMMAND, "--collection", "nowhere"), "nowhere"),
    ((*ASK_COMMAND, "--collection", "a"), "'a'"),
    ((*ASK_COMMAND, "--passages", "missing.jsonl"), "missing.jsonl"),
    ((*ASK_COMMAND, "--passages", "empty.jsonl"), "no passages"),
    ((*ASK_COMMAND, "--passages", "broken.jsonl"), "broken.jsonl, line 1"),
    ((*ASK_COMMAND, "--passages", "folder"), "folder"),
    ((*ASK_COMMAND, "--passages", "passages.jsonl", "--collection", "sample"), "one place"),
    ((*ASK_COMMAND, "--passages", "passages.jsonl", "--model", "gpt-4"), "names no provider"),
    ((*ASK_COMMAND, "--passages", "passages.jsonl", "--model", "nobody:x"), "nobody"),
    ((*ASK_COMMAND, "--model"), "--model"),
    (("ask",), "QUESTION"),
    (("aks", "Who?"), "aks"),
    (("methods", "concatt"), "did you mean concat?"),
    (("methods", "concatt", "--diagram"), "did you mean concat?"),
    (("methods", "--diagram"), "needs a method"),
    (("index", "missing", "--collection", "new"), "missing"),
    (("index", "passages.jsonl"), "--collection"),
    (("index", "passages.jsonl", "--collection", "x"), "'x'"),
    (("index", "passages.jsonl", "--collection", "new", "--words", "0"), "words"),
    (("eval", "missing.jsonl", "--methods", "concat"), "missing.jsonl"),
    (("eval", "broken.jsonl", "--methods", "concat"), "broken.jsonl, line 1"),
    (("eval", "questions.jsonl"), "--methods"),
    ((*EVAL_COMMAND, ""), "No method"),
    ((*EVAL_COMMAND, "concat,contact"), "did you mean concat?"),
    ((*EVAL_COMMAND, "concat,concat"), "twice"),
    ((*EVAL_COMMAND, "concat[k]"), "key=value"),
    ((*EVAL_COMMAND, "concat[k=3"), "cannot be read"),
    ((*EVAL_COMMAND, "concat[k=0]"), "k=0"),
    ((*EVAL_COMMAND, "concat[colour=red]"), "'colour'"),
    ((*EVAL_COMMAND, "concat[k=3;k=4]"), "twice"),
    ((*EVAL_COMMAND, "concat", "--limit", "-1"), "limit"),
    ((*EVAL_COMMAND, "concat", "--limit", "0"), "limit"),
    ((*EVAL_COMMAND, "concat", "--concurrency", "0"), "concurrency"),
    ((*EVAL_COMMAND, "concat", "--k", "0"), "k=0"),
    ((*EVAL_COMMAND, "concat", "--baseline", "summary"), "'summary' is none of the methods"),
    ((*EVAL_COMMAND, "concat", "--measure", "words"), "NAME=MODULE:FUNCTION"),
    ((*EVAL_COMMAND, "concat"), "--collection NAME or --corpus FILE"),
    ((*EVAL_COMMAND, "concat", "--corpus", "pool"), "no passages to pool"),
    ((*EVAL_COMMAND, "concat", "--corpus", "missing.jsonl"), "missing.jsonl"),
    ((*EVAL_COMMAND, "concat", "--corpus", "passages.jsonl", "--collection", "sample"), "give one of them"),
    ((*EVAL_COMMAND, "concat", "--collection", "sample", "--out", "passages.jsonl"), "passages.jsonl"),
    ((*EVAL_COMMAND, "concat", "--collection", "sample", "--model", "openai:x"), "OPENAI_API_KEY"),
]


@pytest.fixture
def files(tmp_path: Path, passages: str) -> None:
    """The files that the commands with mistakes name, in the working directory."""
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    (tmp_path / "broken.jsonl").write_text("{\n", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "questions.jsonl").write_text('{"id": "1", "question": "Who?", "answers": ["me"]}\n', encoding="utf-8")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("args", "message"), COMMANDS_WITH_MISTAKES, ids=[" ".join(args) for args, _ in COMMANDS_WITH_MISTAKES]
)
def test_a_mistake_gets_one_sentence_and_exit_code_2(quorum: Quorum, args: tuple[str, ...], message: str) -> None:
    run = quorum(*args)
    assert (run.code, run.out) == (2, "")
    assert message in run.err
    assert "Traceback" not in run.err
    is_one_line = run.err.startswith("quorum: ") and run.err.count("\n") == 1
    assert is_one_line or "\nError: " in f"\n{run.err}"  # the command line's parser words its own errors


@pytest.mark.parametrize("args", [("",), ("Who?", "--method", "zzz"), ("Who?", "--retriever", "google")])
def test_a_mistake_is_reported_before_the_sample_is_indexed(
    quorum: Quorum, args: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert quorum("ask", *args).code == 2
    assert not list(tmp_path.iterdir())


def test_a_model_without_key_and_address_names_both(
    quorum: Quorum, passages: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUORUM_MODEL", "openai:x")
    run = quorum("ask", "Who?", "--passages", passages)
    assert (run.code, run.out) == (2, "")
    assert run.err.count("\n") == 1
    assert "OPENAI_API_KEY" in run.err
    assert "OPENAI_BASE_URL" in run.err


def test_an_invalid_setting_in_the_environment_is_refused(quorum: Quorum, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORUM_K", "many")
    run = quorum("ask", "Who?")
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert "k='many'" in run.err
