"""For tests of `quorum questions`: a corpus, the lines of the file that the command writes, wrong replies."""

import json
from pathlib import Path
from typing import Any

import pytest
from question_writer import ReplaceReply, write_corpus

OUTPUT_FILE = Path("questions.jsonl")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a corpus of four towns, each with a tower and a lamp."""
    return write_corpus(tmp_path_factory.mktemp("towers") / "corpus.jsonl", 4)


def read_lines() -> list[dict[str, Any]]:
    """The lines of OUTPUT_FILE in the working directory."""
    return [json.loads(line) for line in OUTPUT_FILE.read_text(encoding="utf-8").splitlines()]


def reply_to_even_numbers(prompt_name: str, reply: str) -> ReplaceReply:
    """Make a `replace_reply` for `make_question_writer`. It replaces the correct replies to the prompt `prompt_name` if
    they are about a tower or lamp with an even number.

    reply: the text that replaces them; "{n}" in it becomes the number of the tower or lamp.
    """
    return lambda prompt, n, text: reply.format(n=n) if prompt == prompt_name and n % 2 == 0 else None
