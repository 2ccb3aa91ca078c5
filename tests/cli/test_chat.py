"""`quorum chat`: questions, follow-ups and commands, line by line."""

import io
import json
from pathlib import Path

import pytest
from openai_bodies import make_error
from openai_server import OpenAIServer, Request
from quorum_command import CommandOutcome, Quorum

from quorum import Context, index

STANDALONE_QUESTION = "When was the Lumen Tower finished?"
DOCUMENT_TEXT = "The Lumen Tower was finished in 1931. It stands in the harbour of Vell."


@pytest.fixture
def chat(quorum: Quorum, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> Quorum:
    """A function that runs `quorum chat` over one document. Its arguments are the lines that a user types."""
    Path("towers.txt").write_text(DOCUMENT_TEXT)
    index("towers.txt", collection="towers", context=Context(store="store"))
    options = ("--store", "store", "--collection", "towers", "--retriever", "bm25", "--set", "attempts=1")

    def run(*lines: str) -> CommandOutcome:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return quorum("chat", "--model", "openai:test", "--method", "concat", *options)

    openai_server.reply(reply_to_prompt)
    return run


def reply_to_prompt(request: Request) -> str:
    """Rewrite a follow-up as the standalone question, and answer the two questions that this model knows."""
    if "Last question:" in request.text:
        return STANDALONE_QUESTION
    if STANDALONE_QUESTION in request.text:
        return "1931"
    return "Vell" if "Where" in request.text else "unknown"


def test_a_follow_up_is_understood(chat: Quorum) -> None:
    run = chat("Where is the Lumen Tower?", "", "When was it finished?")
    assert (run.code, run.err) == (0, "")
    assert [line.rstrip() for line in run.out.splitlines()] == [
        "Vell",
        "   It stands in the harbour of [[Vell]].",
        "   towers.txt",
        "  1. towers (towers.txt)",
        f"({STANDALONE_QUESTION})",
        "1931",
        "   The Lumen Tower was finished in [[1931]].",
        "   towers.txt",
        "  1. towers (towers.txt)",
    ]


def test_the_command_new_starts_a_new_conversation(chat: Quorum, openai_server: OpenAIServer) -> None:
    run = chat("Where is the Lumen Tower?", "/new", "When was it finished?")
    expected_end = ["unknown", "Searched: the collection towers (1 passage).", "  1. towers (towers.txt)"]
    assert run.out.splitlines()[-3:] == expected_end
    assert len(openai_server.chats()) == 2  # one call for each question, none to rewrite the second


def test_method_and_settings_change_for_the_next_question(chat: Quorum) -> None:
    run = chat("/method post_fusion", "/k 1", "/set samples=1", "Where is the Lumen Tower?", "/sources", "/method")
    assert (run.code, run.err) == (0, "")
    assert "k is 1\nsamples is 1\n" in run.out
    assert "post_fusion · confidence 1.00 · 1 call" in run.out
    assert run.out.splitlines()[-1].startswith("post_fusion: ")


def test_mistakes_are_reported_in_one_sentence_and_do_not_end_the_chat(chat: Quorum) -> None:
    run = chat("/nope", "/k many", "/k 0", "/set k", "/sources", "/save", "/method none", "Where is the Lumen Tower?")
    error_lines = run.err.splitlines()
    assert (run.code, len(error_lines)) == (1, 7)
    assert error_lines[0].startswith("quorum: There is no command /nope; the commands are: /help, ")
    assert all(line.startswith("quorum: ") for line in error_lines)
    assert run.out.splitlines()[0] == "Vell"


def test_a_failed_call_ends_only_its_question(chat: Quorum, openai_server: OpenAIServer) -> None:
    openai_server.reply([make_error(418, "a teapot"), "Vell"])
    run = chat("Where is the Lumen Tower?", "Where is the Lumen Tower?")
    assert run.code == 1
    assert "a teapot" in run.err
    assert run.out.splitlines()[0] == "Vell"
    # The failed question is not part of the conversation, so no call rewrites the second one as a follow-up.
    assert len(openai_server.chats()) == 2


def test_a_conversation_is_saved_as_markdown_and_as_json(chat: Quorum) -> None:
    run = chat("Where is the Lumen Tower?", "When was it finished?", "/save a.md", "/save b.json", "/save a.md")
    assert (run.code, run.err) == (0, "")
    assert Path("a.md").read_text().splitlines() == [
        *("## Where is the Lumen Tower?", "", "Vell", "", "1. towers (towers.txt)", ""),
        *(
            "## When was it finished?",
            "",
            f"*Understood as: {STANDALONE_QUESTION}*",
            "",
            "1931",
            "",
            "1. towers (towers.txt)",
        ),
    ]
    exchanges = json.loads(Path("b.json").read_text())["exchanges"]
    assert [(item["question"], item["method"], item["answer"]) for item in exchanges] == [
        ("Where is the Lumen Tower?", "concat", "Vell"),
        ("When was it finished?", "concat", "1931"),
    ]
    assert exchanges[1]["result"]["question"] == STANDALONE_QUESTION


def test_saving_never_replaces_a_file_that_the_chat_did_not_write(chat: Quorum) -> None:
    Path("notes.md").write_text("mine")
    run = chat("Where is the Lumen Tower?", "/save notes.md", "/save nowhere/notes.md")
    assert run.code == 1
    assert run.err.splitlines()[0] == "quorum: notes.md exists; give another name."
    assert "nowhere/notes.md cannot be written" in run.err.splitlines()[1]
    assert Path("notes.md").read_text() == "mine"


def test_history_lists_the_questions_and_quit_ends_the_chat(chat: Quorum) -> None:
    run = chat("Where is the Lumen Tower?", "/history", "/quit", "Where is the Lumen Tower?")
    # The first four lines are the answer to the first question, its sentence with its place, and its source. The last
    # question is not asked.
    assert run.out.splitlines()[4:] == ["> Where is the Lumen Tower?", "Vell"]


def test_help_names_every_command(chat: Quorum) -> None:
    run = chat("/help", "/nope")
    # The message about the unknown command /nope lists all commands.
    commands = run.err.partition("the commands are: ")[2].strip().rstrip(".").split(", ")
    assert [line.split()[0] for line in run.out.splitlines()] == [command for command in commands if command != "/help"]


def test_an_unknown_method_is_refused_at_once(quorum: Quorum) -> None:
    run = quorum("chat", "--method", "nothing")
    assert (run.code, "no method 'nothing'" in run.err) == (2, True)


def test_a_long_answer_is_printed_once(chat: Quorum, openai_server: OpenAIServer) -> None:
    long_answer = (
        "It stands in the harbour of Vell, where it was finished in 1931 after a strike. Ships see it from afar."
    )
    openai_server.reply(f"<think>Vell.</think>{long_answer}")
    run = chat("/set answer_type=long", "Where is the Lumen Tower?")
    assert (run.code, run.err) == (0, "")
    assert run.out.splitlines()[1] == long_answer
    assert run.out.count(long_answer) == 1
