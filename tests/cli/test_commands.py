"""The `quorum` command: what it prints where, its exit codes, and one sentence for every mistake."""

import json
from pathlib import Path

import pytest
from openai_server import OpenAIServer, Request, make_error
from quorum_command import CommandOutcome, Quorum

from quorum.core.state import ShownResult
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


def reader(request: Request) -> str:
    """Answers from the passage about the tower when it stands alone; before both passages it gives up."""
    return "1889" if TOWER_TEXT in request.text and "Rome has no" not in request.text else "unknown"


@pytest.fixture
def ask(quorum: Quorum, openai_server: OpenAIServer, passages: str) -> Quorum:
    """quorum ask, with given passages and a server that reads them."""
    openai_server.reply(reader)

    def run(*args: str) -> CommandOutcome:
        return quorum("ask", "When was the tower finished?", "--passages", passages, "--model", "openai:test", *args)

    return run


def test_ask_prints_the_answer_then_the_evidence_as_plain_text(ask: Quorum) -> None:
    ran = ask()
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "1889"
    assert lines[1].startswith("concat_pf · confidence 1.00 · 3 calls · ")
    assert "finished in [[1889]]" in ran.out
    assert "1. Eiffel Tower" in ran.out
    assert "Rome" not in ran.out
    assert "\x1b" not in ran.out
    assert max(map(len, lines)) <= 100


def test_ask_for_what_no_passage_says(ask: Quorum, openai_server: OpenAIServer) -> None:
    openai_server.reply("unknown")
    ran = ask("--method", "concat")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "unknown"
    assert "No passage supports an answer." in ran.out


def test_ask_prints_the_whole_result_as_json(ask: Quorum) -> None:
    ran = ask("--json")
    result = json.loads(ran.out)
    assert set(result) == set(ShownResult.__annotations__)
    assert (result["answer"], result["unknown"], result["confidence"]) == ("1889", False, 1.0)
    assert result["evidence"] == [{"passage": "a", "start": 26, "end": 30}]
    assert ran.err == ""


def test_a_trace_shows_nodes_prompts_and_replies(ask: Quorum) -> None:
    ran = ask("--trace")
    for part in (
        "concat_pf",
        "concat_answer",
        "answer: passage 1",
        "answer: passage 2",
        "-> 1889",
        "tokens in",
        TOWER_TEXT[:40],
    ):
        assert part in ran.out
    assert ran.out.rstrip().splitlines()[-1] != ""
    assert ran.out.index("concat_answer") < ran.out.index("answer: passage 1") < ran.out.index("[[1889]]")


def test_a_trace_beside_json_goes_to_stderr(ask: Quorum) -> None:
    ran = ask("--trace", "--json")
    assert json.loads(ran.out)["answer"] == "1889"
    assert "concat_answer" in ran.err


def test_a_stream_tells_of_every_node_as_it_ends(ask: Quorum) -> None:
    ran = ask("--stream")
    told = [line.split()[0] for line in ran.err.splitlines()]
    assert [told[0], *told[-2:]] == ["begin", "vote", "1889"]
    assert told.count("passage_answer") == 2
    assert ran.out.splitlines()[0] == "1889"


def test_settings_reach_the_run(ask: Quorum, openai_server: OpenAIServer) -> None:
    assert ask("--method", "concat", "--set", "temperature=0.5", "--set", "samples=3").code == 0
    assert [request.body["temperature"] for request in openai_server.chats()] == [0.5] * 3


def test_a_call_that_fails_for_good_is_exit_code_1(ask: Quorum, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(400, "no such parameter"))
    ran = ask("--method", "concat")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("\n") == 1
    assert "no such parameter" in ran.err


def test_a_trace_shows_what_failed(ask: Quorum, openai_server: OpenAIServer) -> None:
    openai_server.reply(make_error(400, "no such parameter"))
    ran = ask("--method", "concat", "--trace")
    assert ran.code == 1
    assert "concat_answer" in ran.out
    assert "no such parameter" in ran.out


def test_a_retriever_that_nothing_needs_is_mentioned(
    quorum: Quorum, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    question = {"id": "1", "question": "Where?", "answers": ["Paris"], "passages": PASSAGES}
    (tmp_path / "data.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    openai_server.reply("Paris")
    ran = quorum("eval", "data.jsonl", "--methods", "concat,pf_concat", "--model", "openai:test", "--retriever", "bm25")
    assert ran.code == 0
    assert "--retriever bm25 was not used" in ran.err
    assert [line.split()[:3] for line in ran.out.splitlines()][1:3] == [
        ["concat", "1", "100.0"],
        ["pf_concat", "1", "100.0"],
    ]


def test_failed_questions_are_counted_and_make_exit_code_1(
    quorum: Quorum, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    question = {"id": "1", "question": "Where?", "answers": ["Paris"], "passages": PASSAGES}
    (tmp_path / "data.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    openai_server.reply(make_error(400, "not today"))
    ran = quorum("eval", "data.jsonl", "--methods", "concat", "--model", "openai:test")
    assert ran.code == 1
    assert "errors" in ran.out.splitlines()[0]
    assert "1 answer failed" in ran.err


def test_methods_are_listed(quorum: Quorum) -> None:
    ran = quorum("methods")
    assert ran.code == 0
    assert all(name in ran.out for name in METHODS)


def test_methods_as_json(quorum: Quorum) -> None:
    rows = json.loads(quorum("methods", "--json").out)
    assert [row["name"] for row in rows] == list(METHODS)
    assert all(set(row) == {"name", "paper", "summary", "calls", "depth"} for row in rows)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_drawn_in_mermaid(quorum: Quorum, name: str) -> None:
    ran = quorum("methods", name, "--diagram")
    assert ran.code == 0
    assert "graph TD" in ran.out
    assert "begin" in ran.out


def test_help_names_every_command(quorum: Quorum) -> None:
    ran = quorum("--help")
    assert ran.code == 0
    assert all(command in ran.out for command in ("ask", "methods", "index", "eval", "experiment"))


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
    """The files that the mistakes are made with, in the working directory."""
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    (tmp_path / "broken.jsonl").write_text("{\n", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "questions.jsonl").write_text('{"id": "1", "question": "Who?", "answers": ["me"]}\n', encoding="utf-8")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("args", "message"), COMMANDS_WITH_MISTAKES, ids=[" ".join(args) for args, _ in COMMANDS_WITH_MISTAKES]
)
def test_a_mistake_gets_one_sentence_and_exit_code_2(quorum: Quorum, args: tuple[str, ...], message: str) -> None:
    ran = quorum(*args)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert "Traceback" not in ran.err
    one_line = ran.err.startswith("quorum: ") and ran.err.count("\n") == 1
    assert one_line or "\nError: " in f"\n{ran.err}"  # typer's own words for what it refuses


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
    ran = quorum("ask", "Who?", "--passages", passages)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert "OPENAI_API_KEY" in ran.err
    assert "OPENAI_BASE_URL" in ran.err


def test_a_wrong_setting_in_the_environment(quorum: Quorum, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORUM_K", "many")
    ran = quorum("ask", "Who?")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "k='many'" in ran.err
