"""How `quorum ask` takes its question: with or without quotes, or from standard input."""

import io
import json
import re
import sys
from pathlib import Path

import pytest
from openai_server import OpenAIServer
from quorum_command import Quorum


@pytest.fixture
def passages(tmp_path: Path) -> str:
    path = tmp_path / "passages.jsonl"
    path.write_text('{"id": "a", "title": "Vell", "text": "Ada Korn designed the tower."}\n', encoding="utf-8")
    return str(path)


def get_sent_question(server: OpenAIServer) -> str:
    """The last line of the prompt that names the question."""
    lines = server.chats()[-1].text.splitlines()
    return next(line for line in reversed(lines) if "designed it" in line)


@pytest.mark.parametrize(
    "words",
    [
        ["Who designed it?"],
        ["Who", "designed", "it?"],
        ["Who", "-m", "openai:test", "designed", "it?"],
        ["--", "Who", "designed", "it?"],
    ],
)
def test_a_question_needs_no_quotes(
    quorum: Quorum, openai_server: OpenAIServer, passages: str, words: list[str]
) -> None:
    options = ["--passages", passages, "--method", "concat"] + (["-m", "openai:test"] if "-m" not in words else [])
    assert quorum("ask", *options, *words).code == 0
    assert get_sent_question(openai_server).endswith("Who designed it?")


@pytest.mark.parametrize("words", [[], ["-"]])
def test_a_question_is_read_from_standard_input(
    quorum: Quorum, openai_server: OpenAIServer, passages: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("Who designed it?\n"))
    run = quorum("ask", *words, "--passages", passages, "--method", "concat", "-m", "openai:test", "--json")
    assert (run.code, json.loads(run.out)["unknown"]) == (0, True)
    assert get_sent_question(openai_server).endswith("Who designed it?")


class Terminal(io.StringIO):
    """Standard input on which a person would have to type."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("standard_input", [io.StringIO(" \n"), Terminal("never read"), None])
def test_no_question_is_one_sentence(
    quorum: Quorum, monkeypatch: pytest.MonkeyPatch, standard_input: io.StringIO | None
) -> None:
    monkeypatch.setattr(sys, "stdin", standard_input)
    run = quorum("ask")
    assert (run.code, run.out, run.err.count("\n")) == (2, "", 1)
    assert "There is no question; write it after the command" in run.err


def test_a_mistyped_option_beside_words_is_no_word_of_the_question(quorum: Quorum) -> None:
    run = quorum("ask", "Who", "designed", "it", "--modle", "openai:test")
    assert run.code == 2
    assert re.search("No such option:? .?--modle", run.err)  # Typer and Click write it in two ways
