"""`quorum chat`: questions, follow-ups and commands, line by line."""

import io
import json
from pathlib import Path

import pytest
from openai_server import OpenAIServer, Request, make_error
from quorum_command import CommandOutcome, Quorum

from quorum import Context, index

ALONE = "When was the Lumen Tower finished?"
TOWER = "The Lumen Tower was finished in 1931. It stands in the harbour of Vell."


@pytest.fixture
def chat(quorum: Quorum, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> Quorum:
    """quorum chat over a document, with these lines as its input."""
    Path("towers.txt").write_text(TOWER)
    index("towers.txt", collection="towers", context=Context(store="store"))
    options = ("--store", "store", "--collection", "towers", "--retriever", "bm25", "--set", "attempts=1")

    def run(*lines: str) -> CommandOutcome:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return quorum("chat", "--model", "openai:test", "--method", "concat", *options)

    openai_server.reply(reader)
    return run


def reader(request: Request) -> str:
    if "Last question:" in request.text:
        return ALONE
    return "1931" if ALONE in request.text else "Vell" if "Where" in request.text else "unknown"


def test_a_follow_up_is_understood(chat: Quorum) -> None:
    ran = chat("Where is the Lumen Tower?", "", "When was it finished?")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "Vell",
        "  1. towers (towers.txt)",
        f"({ALONE})",
        "1931",
        "  1. towers (towers.txt)",
    ]


def test_new_forgets_what_was_said(chat: Quorum, openai_server: OpenAIServer) -> None:
    ran = chat("Where is the Lumen Tower?", "/new", "When was it finished?")
    assert ran.out.splitlines()[-1] == "unknown"
    assert len(openai_server.chats()) == 2


def test_method_and_settings_change_for_the_next_question(chat: Quorum) -> None:
    ran = chat("/method post_fusion", "/k 1", "/set samples=1", "Where is the Lumen Tower?", "/sources", "/method")
    assert (ran.code, ran.err) == (0, "")
    assert "k is 1\nsamples is 1\n" in ran.out
    assert "post_fusion · confidence 1.00 · 1 call" in ran.out
    assert ran.out.splitlines()[-1].startswith("post_fusion: ")


def test_mistakes_are_reported_in_one_sentence_and_do_not_end_the_chat(chat: Quorum) -> None:
    ran = chat("/nope", "/k many", "/k 0", "/set k", "/sources", "/save", "/method none", "Where is the Lumen Tower?")
    said = ran.err.splitlines()
    assert (ran.code, len(said)) == (1, 7)
    assert said[0].startswith("quorum: There is no command /nope; the commands are: /help, ")
    assert all(line.startswith("quorum: ") for line in said)
    assert ran.out.splitlines()[0] == "Vell"


def test_a_failed_call_ends_only_its_question(chat: Quorum, openai_server: OpenAIServer) -> None:
    openai_server.reply([make_error(418, "a teapot"), "Vell"])
    ran = chat("Where is the Lumen Tower?", "Where is the Lumen Tower?")
    assert ran.code == 1
    assert "a teapot" in ran.err
    assert ran.out.splitlines()[0] == "Vell"
    assert len(openai_server.chats()) == 2  # a failed question is not part of the conversation


def test_a_conversation_is_saved_as_markdown_and_as_json(chat: Quorum) -> None:
    ran = chat("Where is the Lumen Tower?", "When was it finished?", "/save a.md", "/save b.json", "/save a.md")
    assert (ran.code, ran.err) == (0, "")
    assert Path("a.md").read_text().splitlines() == [
        *("## Where is the Lumen Tower?", "", "Vell", "", "1. towers (towers.txt)", ""),
        *("## When was it finished?", "", f"*Understood as: {ALONE}*", "", "1931", "", "1. towers (towers.txt)"),
    ]
    saved = json.loads(Path("b.json").read_text())["exchanges"]
    assert [(one["question"], one["method"], one["answer"]) for one in saved] == [
        ("Where is the Lumen Tower?", "concat", "Vell"),
        ("When was it finished?", "concat", "1931"),
    ]
    assert saved[1]["result"]["question"] == ALONE


def test_a_file_of_somebody_else_is_never_replaced(chat: Quorum) -> None:
    Path("notes.md").write_text("mine")
    ran = chat("Where is the Lumen Tower?", "/save notes.md", "/save nowhere/notes.md")
    assert ran.code == 1
    assert ran.err.splitlines()[0] == "quorum: notes.md exists; give another name."
    assert "nowhere/notes.md cannot be written" in ran.err.splitlines()[1]
    assert Path("notes.md").read_text() == "mine"


def test_quit_and_history(chat: Quorum) -> None:
    ran = chat("Where is the Lumen Tower?", "/history", "/quit", "Where is the Lumen Tower?")
    assert ran.out.splitlines()[2:] == ["> Where is the Lumen Tower?", "Vell"]


def test_help_names_every_command(chat: Quorum) -> None:
    ran = chat("/help", "/nope")
    commands = ran.err.partition("the commands are: ")[2].strip().rstrip(".").split(", ")
    assert [line.split()[0] for line in ran.out.splitlines()] == [name for name in commands if name != "/help"]


def test_an_unknown_method_is_refused_at_once(quorum: Quorum) -> None:
    ran = quorum("chat", "--method", "nothing")
    assert (ran.code, "no method 'nothing'" in ran.err) == (2, True)


def test_a_long_answer_is_printed_once(chat: Quorum, openai_server: OpenAIServer) -> None:
    long = "It stands in the harbour of Vell, where it was finished in 1931 after a strike. Ships see it from afar."
    openai_server.reply(f"<think>Vell.</think>{long}")
    ran = chat("/set answer_type=long", "Where is the Lumen Tower?")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[1] == long
