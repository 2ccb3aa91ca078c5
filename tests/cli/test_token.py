"""`quorum token`: adds, lists and revokes the names of a token file."""

import json
from pathlib import Path
from typing import Any

import pytest

from quorum.serving.named_tokens import hash_token, read_named_tokens


def test_a_token_is_printed_once_and_revoked(quorum: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "team" / "tokens.json"
    monkeypatch.setenv("QUORUM_TOKEN_FILE", str(file))
    rights = ["--collections", "handbook, minutes", "--where", "team=HR", "--methods", "concat"]
    added = quorum("token", "add", "alice", *rights, "--questions-per-minute", "20", "--dollars-per-day", "5")
    [token] = added.out.splitlines()
    assert (added.code, len(token)) == (0, 55)
    assert quorum("token", "add", "bot").code == 0
    [alice, bot] = read_named_tokens(file)
    assert (alice.hash, alice.collections, alice.where) == (hash_token(token), ("handbook", "minutes"), "team=HR")
    assert (bot.collections, bot.where, bot.methods) == (None, None, None)
    assert (file.stat().st_mode & 0o777, token in file.read_text()) == (0o600, False)

    listed = quorum("token", "list").out
    assert listed.splitlines() == [
        "alice: collections handbook, minutes; method concat; only where team=HR; 20 questions a minute; "
        "5 dollars a day",
        "bot: all collections; all methods",
    ]
    assert quorum("token").out == listed
    assert quorum("token", "--tokens", str(file)).out == listed
    [shown, _] = json.loads(quorum("token", "list", "--json").out)
    assert (shown["name"], shown["limits"], "hash" in shown) == (
        "alice",
        {"questions_per_minute": 20, "dollars_per_day": 5.0},
        False,
    )

    assert quorum("token", "revoke", "alice").out == "alice is revoked.\n"
    assert [token.name for token in read_named_tokens(file)] == ["bot"]
    assert quorum("token", "revoke", "bot").code == 0
    assert "holds no token" in quorum("token", "list").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["add", "bot"], "has a token of 'bot' already; give another name, or revoke that one first"),
        (["add", "a b"], "A token cannot have the name 'a b'"),
        (["add", "owner"], "A token cannot have the name 'owner'"),
        (["add", "eve", "--where", "team"], "Setting where=team does not fit"),
        (["revoke", "eve"], "has no token of 'eve'; it has: bot"),
        (["list", "--tokens", "none.json"], "There is no token file none.json; make it with: quorum token add"),
        (
            ["revoke", "eve", "--tokens", "none.json"],
            "There is no token file none.json; make it with: quorum token add",
        ),
        (["add", "eve", "--tokens", "broken.json"], "The token file broken.json does not fit: it is no JSON"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(
    arguments: list[str], words: str, quorum: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    quorum("token", "add", "bot")
    before = Path("tokens.json").read_bytes()
    Path("broken.json").write_text("{")
    run = quorum("token", *arguments)
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert words in run.err
    assert Path("tokens.json").read_bytes() == before
    assert not Path("none.json").exists()


@pytest.mark.parametrize("command", [["serve"], ["serve", "--no-page"], ["mcp", "--http"]])
def test_a_server_takes_the_file_and_refuses_a_missing_one(command: list[str], quorum: Any, tmp_path: Path) -> None:
    options = ["--store", str(tmp_path / "store"), "--host", "0.0.0.0", "--tokens", str(tmp_path / "none.json")]
    run = quorum(*command, *options)
    assert run.code == 2
    assert "There is no token file" in run.err
    origin = quorum(*command, "--allow-origin", "*")
    assert (origin.code, "--allow-origin '*' is no origin" in origin.err) == (2, True)


def test_a_mistyped_method_is_refused_and_an_unknown_name_warned_of(quorum: Any, tmp_path: Path) -> None:
    file = str(tmp_path / "tokens.json")
    refused = quorum("token", "add", "alice", "--methods", "concatt", "--tokens", file)
    assert (refused.code, Path(file).exists()) == (2, False)
    assert "There is no method 'concatt'; did you mean concat?" in refused.err
    added = quorum("token", "add", "alice", "--methods", "careful", "--collections", "handbok", "--tokens", file)
    assert added.code == 0
    assert "'careful' is no method of Quorum; a server must serve it with --composed." in added.err
    assert "has no collection 'handbok' now." in added.err
