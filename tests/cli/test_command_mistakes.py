"""Mistakes on the command line: one sentence and exit code 2 for each."""

import json
from pathlib import Path

import pytest
from quorum_command import Quorum

ASK_COMMAND = ("ask", "Who?")
EVAL_COMMAND = ("eval", "questions.jsonl", "--methods")
# (the arguments, a part of the expected error message). "missing" and "nowhere" name what does not exist. A collection
# whose name has one letter is a mistake, because a name needs at least three characters.
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
    ((*ASK_COMMAND, "--set", "k=many"), "k=many does not fit"),
    ((*ASK_COMMAND, "--set", "temperature=9"), "temperature=9"),
    ((*ASK_COMMAND, "--set", "vote=some"), "all, staged"),
    ((*ASK_COMMAND, "--retriever", "google"), "google"),
    ((*ASK_COMMAND, "--collection", "nowhere"), "nowhere"),
    ((*ASK_COMMAND, "--collection", "a"), "'a'"),
    ((*ASK_COMMAND, "--passages", "missing.jsonl"), "missing.jsonl"),
    ((*ASK_COMMAND, "--passages", "empty.jsonl"), "no passages"),
    ((*ASK_COMMAND, "--passages", "broken.jsonl"), "broken.jsonl, line 1"),
    ((*ASK_COMMAND, "--passages", "folder"), "folder"),
    ((*ASK_COMMAND, "--passages", "passages.jsonl", "--collection", "sample"), "give one of them"),
    ((*ASK_COMMAND, "--passages", "passages.jsonl", "--model", "gpt-4"), "names no provider"),
    ((*ASK_COMMAND, "--passages", "passages.jsonl", "--model", "nobody:x"), "nobody"),
    ((*ASK_COMMAND, "--model"), "--model"),
    (("ask",), "no question"),
    (("aks", "Who?"), "aks"),
    (("methods", "concatt"), "did you mean concat?"),
    (("methods", "concatt", "--diagram"), "did you mean concat?"),
    (("methods", "--diagram"), "no method is named"),
    (("index", "missing", "--collection", "new"), "missing"),
    (("index", "passages.jsonl", "folder"), "give --collection NAME"),
    (("index", "x"), "after 'x'; give --collection NAME"),
    (("index", "passages.jsonl", "--collection", "x"), "'x'"),
    (("index", "passages.jsonl", "--collection", "new", "--words", "0"), "words"),
    (("index", "passages.jsonl", "--collection", "new", "--meta", "year:=twenty"), "year:=twenty"),
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
    ((*EVAL_COMMAND, "concat", "--baseline", "summary"), "'summary' is not one of the methods"),
    ((*EVAL_COMMAND, "concat", "--measure", "words"), "NAME=MODULE:FUNCTION"),
    (("eval", "mixed.jsonl", "--methods", "concat"), "1 of 2 questions in mixed.jsonl have no passages of their own"),
    ((*EVAL_COMMAND, "concat", "--corpus", "pool"), "no passages to pool"),
    ((*EVAL_COMMAND, "concat", "--corpus", "missing.jsonl"), "missing.jsonl"),
    ((*EVAL_COMMAND, "concat", "--corpus", "passages.jsonl", "--collection", "sample"), "give one of them"),
    (("eval", "given.jsonl", "--methods", "concat", "--corpus", "given", "--collection", "sample"), "give one of them"),
    ((*EVAL_COMMAND, "concat", "--collection", "sample", "--out", "passages.jsonl"), "passages.jsonl"),
    ((*EVAL_COMMAND, "concat", "--collection", "sample", "--model", "openai:x"), "OPENAI_API_KEY"),
]


@pytest.fixture
def passages_file(tmp_path: Path) -> str:
    path = tmp_path / "passages.jsonl"
    path.write_text('{"id": "a", "title": "", "text": "I did it."}\n', encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path: Path, passages_file: str) -> None:
    """Writes into the working directory the files and the folder that COMMANDS_WITH_MISTAKES name."""
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    (tmp_path / "broken.jsonl").write_text("{\n", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    passage = {"id": "1", "title": "", "text": "It is me."}
    question = {"id": "1", "question": "Who?", "answers": ["me"], "passages": [passage]}
    (tmp_path / "given.jsonl").write_text(json.dumps(question), encoding="utf-8")
    lines = [json.dumps(record) for record in (question, {**question, "id": "2", "passages": []})]
    (tmp_path / "mixed.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "questions.jsonl").write_text('{"id": "1", "question": "Who?", "answers": ["me"]}\n', encoding="utf-8")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("args", "message"), COMMANDS_WITH_MISTAKES, ids=[" ".join(args) for args, _ in COMMANDS_WITH_MISTAKES]
)
@pytest.mark.usefixtures("sample_vectors")
def test_a_mistake_gets_one_sentence_and_exit_code_2(quorum: Quorum, args: tuple[str, ...], message: str) -> None:
    run = quorum(*args)
    assert (run.code, run.out) == (2, "")
    assert message in run.err
    assert "Traceback" not in run.err, run.err
    is_one_line = run.err.startswith("quorum: ") and run.err.count("\n") == 1
    assert is_one_line or "\nError: " in f"\n{run.err}"  # Typer's own errors begin with Error:


MISTAKES_OF_SETTINGS = (
    "--model gpt-4",
    "--model nobody:x",
    "--embeddings nobody:x",
    "--retriever google",
    "--set verifier=gpt-4",
    "--set context_filter=zzz",
    "--set scorer=zzz",
    "--set second_retriever=google",
    "--set reranker=api:x",
)
OPTIONS_OF_SERVERS = ("--allow-models gpt-4", "--collections nowhere", "--composed missing.json", "--prices missing")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("command", "mistakes"),
    [
        ("ask Who?", (*MISTAKES_OF_SETTINGS, "--method zzz", "--method concat>sure[model=gpt-4]")),
        ("chat", MISTAKES_OF_SETTINGS),
        ("serve --port 0", (*MISTAKES_OF_SETTINGS, *OPTIONS_OF_SERVERS)),
        ("serve --port 0 --watch concat --score-at-least 0.5", ("--judge gpt-4",)),
        ("serve --port 0 --no-page", ("--model gpt-4", "--collection nowhere", *OPTIONS_OF_SERVERS)),
        ("mcp", ("--model gpt-4", "--collection nowhere", *OPTIONS_OF_SERVERS)),
        ("index folder", ("--embeddings nobody:x", "--embeddings zzz")),
        ("eval questions.jsonl --methods concat", (*MISTAKES_OF_SETTINGS, "--out passages.jsonl", "--judge gpt-4")),
        (
            "compare passages.jsonl questions.jsonl --methods concat",
            (*MISTAKES_OF_SETTINGS[3:], "--models gpt-4", "--out passages.jsonl/x", "--prices no", "--judge gpt-4"),
        ),
        ("experiment sure-table-1 questions.jsonl", ("--model gpt-4", "--methods zzz", "--prices no")),
    ],
)
def test_a_mistake_is_reported_before_anything_is_indexed(
    quorum: Quorum, tmp_path: Path, command: str, mistakes: tuple[str, ...]
) -> None:
    before = sorted(path.name for path in tmp_path.iterdir())
    for mistake in mistakes:
        mistake = mistake.replace("--retriever ", "--retrievers ") if command.startswith("compare") else mistake
        run = quorum(*command.split(), *mistake.split())
        assert (run.code, run.out, run.err.count("\n")) == (2, "", 1), f"{mistake}: {run.err}"
        assert sorted(path.name for path in tmp_path.iterdir()) == before, mistake


def test_the_error_for_a_model_without_key_and_address_names_both_variables(
    quorum: Quorum, passages_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUORUM_MODEL", "openai:x")
    run = quorum("ask", "Who?", "--passages", passages_file)
    assert (run.code, run.out) == (2, "")
    assert run.err.count("\n") == 1
    assert "OPENAI_API_KEY" in run.err
    assert "OPENAI_BASE_URL" in run.err


def test_an_invalid_setting_in_the_environment_is_refused(quorum: Quorum, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUORUM_K", "many")
    run = quorum("ask", "Who?")
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert "k=many" in run.err
