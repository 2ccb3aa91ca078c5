"""No text of a document, a model or a server controls the terminal."""

import io
import json
from pathlib import Path

import pytest
from openai_bodies import make_error
from openai_server import OpenAIServer
from quorum_command import Quorum
from rich.table import Table
from rich.text import Text

from quorum.cli.terminal import EscapingStream, escape_controls, make_console

CLIPBOARD = "\x1b]52;c;cm0gLXJm\x07"  # OSC 52: writes to the clipboard
ATTACK = f"{CLIPBOARD}\x1b[2J\x1b[1A\x9b31m\x07\x08\rThe Orm"  # clears the screen, moves, colours, overwrites
ORDERS = {"\x1b", "\x9b", "\x07", "\x08"}


@pytest.mark.parametrize("character", [chr(code) for code in range(0xA0) if chr(code) not in "\t\n"])
def test_every_control_character_is_escaped(character: str) -> None:
    escaped = escape_controls(character)
    assert escaped == (character if character.isprintable() else f"\\u{ord(character):04x}")
    assert character.isprintable() or json.loads(f'"{escaped}"') == character


def test_line_ends_stay() -> None:
    assert escape_controls("one\r\ntwo\tthree\n") == "one\r\ntwo\tthree\n"


@pytest.mark.parametrize("width", [20, 100])
def test_a_console_escapes_texts_and_tables_but_keeps_its_colours(width: int) -> None:
    raw = io.StringIO()
    console = make_console(EscapingStream(raw), width)  # type: ignore[arg-type]
    table = Table("name")
    table.add_row(Text(ATTACK))
    console.print(Text(ATTACK, style="bold"), table, ATTACK)
    assert set(raw.getvalue()) & ORDERS == set()
    assert "52;c;cm0gLXJm" in "".join(raw.getvalue().split()).replace("│", "")


@pytest.fixture
def collection(tmp_path: Path, quorum: Quorum) -> list[str]:
    """Options that choose a collection whose only passage, title and file name hold orders to the terminal."""
    file = tmp_path / "orders.jsonl"
    passage = {"id": f"orm{CLIPBOARD}", "title": f"Orm{ATTACK}", "text": f"{ATTACK} flows through Vell. {ATTACK}"}
    file.write_text(json.dumps(passage) + "\n")
    options = ["--collection", "rivers", "--store", str(tmp_path / "store")]
    outcome = quorum("index", str(file), *options)
    assert outcome.code == 0, outcome.err
    return options


@pytest.mark.parametrize("reply", [f"Vell{ATTACK}", make_error(400, f"no {ATTACK}")], ids=["reply", "error"])
@pytest.mark.parametrize("options", [[], ["--stream"], ["--trace"], ["--json"]], ids=" ".join)
def test_ask_prints_no_order_to_the_terminal(
    options: list[str],
    reply: object,
    quorum: Quorum,
    collection: list[str],
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.url)
    openai_server.reply(reply)  # type: ignore[arg-type]
    where = ["--model", "openai:test", "--set", "retriever=bm25", "--set", "attempts=1"]
    outcome = quorum("ask", "Where does the Orm flow?", *collection, *where, *options)
    assert set(outcome.out + outcome.err) & ORDERS == set()
    assert "u001b" in outcome.out + outcome.err  # shown, but as text


def test_collections_show_and_export_print_no_order(quorum: Quorum, collection: list[str]) -> None:
    for command in (["collections"], ["collections", "show", "rivers"], ["collections", "export", "rivers"]):
        outcome = quorum(*command, "--store", collection[-1])
        assert outcome.code == 0, outcome.err
        assert set(outcome.out + outcome.err) & ORDERS == set()
