"""The token file: what it may hold, and what a server makes of it that reads it again whenever it changes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from api_server import Serve
from hypothesis import given
from hypothesis import strategies as st
from named_clients import TeamFile
from run_client import make_headers

from quorum import Context
from quorum.core.errors import SetupError
from quorum.evaluation.metrics.prices import Prices
from quorum.serving.access import Access, TokenFile
from quorum.serving.errors import Refusal
from quorum.serving.named_tokens import (
    Allowance,
    NamedToken,
    change_token_file,
    derive_cookie,
    hash_cookie,
    hash_token,
    read_named_tokens,
)
from quorum.serving.serve import Options, make_server_app

NAMES = st.lists(st.text(st.characters(codec="utf-8"), min_size=1), max_size=3, unique=True).map(tuple)


@pytest.fixture
def team_file(tmp_path: Path) -> TeamFile:
    return TeamFile(tmp_path / "tokens.json")


@given(
    collections=st.none() | NAMES,
    methods=st.none() | NAMES,
    where=st.sampled_from([None, "year>=2020", {"team": "HR"}, ["year>=2020", {"team": "HR"}]]),
    limits=st.builds(Allowance, st.none() | st.integers(1, 1000), st.none() | st.floats(0, 1000)),
)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, collections: Any, methods: Any, where: Any, limits: Allowance
) -> None:
    path = tmp_path_factory.mktemp("tokens") / "tokens.json"
    written = NamedToken("alice", hash_token("secret"), collections, where, methods, limits)
    with change_token_file(path) as tokens:
        tokens.append(written)
    assert read_named_tokens(path) == [written]
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert sorted(item.name for item in path.parent.iterdir()) == ["tokens.json", "tokens.json.lock"]


def test_the_file_tells_neither_the_token_nor_the_cookie(team_file: TeamFile) -> None:
    token = team_file.add("alice")
    cookie, text = derive_cookie(token), team_file.path.read_text()
    assert (token in text, cookie in text) == (False, False)
    assert hash_cookie(cookie) == hash_token(token)
    assert "hash" not in repr(NamedToken("alice", hash_token(token)))
    access = Access(token_file=TokenFile(team_file.path))
    [entry] = read_named_tokens(team_file.path)
    assert (access.find_by_token(entry.hash), access.find_by_cookie(entry.hash)) == (None, None)
    assert access.find_by_token(token) == access.find_by_cookie(cookie) == access.find_visitor(token)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "it is no JSON (Expecting property name enclosed in double quotes, line 1)"),
        (b"\xff\xfe", "it is no JSON (it is not UTF-8)"),
        ("[]", 'it does not say {"format": "quorum tokens 1"}'),
        ('{"format": "quorum tokens 1", "token": []}', 'it has one list, "tokens"'),
        ({"name": "a b"}, 'its entry 1 needs a "name"'),
        ({"name": "owner"}, 'its entry 1 needs a "name"'),
        ({"hash": "secret"}, "the entry of 'alice' needs a \"hash\", as quorum token add writes it"),
        ({"colections": ["a"]}, "the entry of 'alice' has the unknown field 'colections'"),
        ({"collections": "handbook"}, 'needs a list of names as "collections"'),
        ({"where": "team"}, "of the entry of 'alice': Setting where=team does not fit"),
        ({"methods": [1]}, 'needs a list of names as "methods"'),
        ({"limits": {"calls": 1}}, 'needs an object with questions_per_minute and dollars_per_day as "limits"'),
        ({"limits": {"questions_per_minute": True}}, "needs a whole number of at least 1"),
        ({"limits": {"dollars_per_day": -1}}, "needs a number of at least 0"),
    ],
    ids=str,
)
def test_a_fault_is_told_in_a_sentence(text: Any, words: str, team_file: TeamFile) -> None:
    if isinstance(text, dict):
        team_file.write(**text)
    else:
        team_file.path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SetupError) as refusal:
        TokenFile(team_file.path)
    message = str(refusal.value)
    assert message.startswith(f"The token file {team_file.path} does not fit: ")
    assert words in message
    assert "\n" not in message


def test_names_and_hashes_stand_there_once(team_file: TeamFile) -> None:
    team_file.add("alice")
    team_file.add("bob")
    content = json.loads(team_file.path.read_text())
    for key in ("name", "hash"):
        changed = json.loads(json.dumps(content))
        changed["tokens"][1][key] = changed["tokens"][0][key]
        team_file.path.write_text(json.dumps(changed))
        with pytest.raises(SetupError, match=f"the {key} of 'alice' stands there twice"):
            read_named_tokens(team_file.path)


@pytest.mark.parametrize(
    ("rights", "words"),
    [
        ({"collections": ("towers", "masts")}, "names 'masts' among the collections of 'alice'.*it serves: towers \\("),
        ({"methods": ("concat", "konkat")}, "names 'konkat' among the methods of 'alice', which this server does not"),
        (
            {"limits": Allowance(None, 1.0)},
            "of 'alice' has dollars_per_day, but the model 'openai:odd' has no price",
        ),
    ],
)
def test_a_server_does_not_start_with_names_that_it_does_not_serve(
    rights: dict[str, Any], words: str, store: Path, team_file: TeamFile
) -> None:
    team_file.add("alice", **rights)
    context = Context(store=str(store), collection="towers", model="openai:odd")
    with pytest.raises(SetupError, match=words):
        make_server_app(context, Options(token_file=team_file.path), Prices())


def test_a_missing_file_is_told_with_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"There is no token file .*none\.json; make it with: quorum token add NAME"):
        TokenFile(tmp_path / "none.json")


def test_a_file_that_others_can_read_is_warned_of(team_file: TeamFile, capsys: pytest.CaptureFixture[str]) -> None:
    team_file.add("alice")
    TokenFile(team_file.path)
    assert capsys.readouterr().err == ""
    team_file.path.chmod(0o644)
    TokenFile(team_file.path)
    warning = f"quorum: others on this machine can read the token file {team_file.path} (mode 644); run: chmod 600 "
    assert capsys.readouterr().err.startswith(warning)


def test_nobody_is_let_in_while_the_file_cannot_be_used(
    team_file: TeamFile, capsys: pytest.CaptureFixture[str]
) -> None:
    token = team_file.add("alice")
    content, access = team_file.path.read_text(), Access(["the-first-key-of-this-server"], TokenFile(team_file.path))
    for spoil in (lambda: team_file.path.write_text("{"), team_file.path.unlink):
        assert access.find_by_token(token) is not None
        spoil()
        for _ in range(2):  # a second look at the same file
            with pytest.raises(Refusal) as refusal:
                access.find_by_token(token)
            assert (refusal.value.status, refusal.value.code) == (503, "tokens_unreadable")
        assert capsys.readouterr().err.count("nobody of the token file is let in until it is mended: ") == 1
        owner = access.find_by_token("the-first-key-of-this-server")
        assert owner is not None
        assert owner.is_owner
        team_file.path.write_text(content)


def test_a_faulty_entry_of_a_changed_file_keeps_out_that_name_only(
    team_file: TeamFile, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(token: NamedToken) -> None:
        if token.limits.dollars_per_day is not None:
            raise SetupError("a model has no price.")

    alice = team_file.add("alice")
    access = Access(token_file=TokenFile(team_file.path, check))
    bob = team_file.add("bob", limits=Allowance(None, 1.0))
    assert access.find_by_token(bob) is None
    assert access.find_by_token(alice) is not None
    assert "quorum: bob is not let in: a model has no price." in capsys.readouterr().err


def test_a_token_that_is_added_later_is_let_in(team_file: TeamFile, serve: Serve) -> None:
    team_file.add("alice")
    api = serve(token_file=team_file.path)
    assert api.get("/v1/models", **make_headers("quorum_token_of_bob")).status_code == 401
    assert api.get("/v1/models", **make_headers(team_file.add("bob"))).status_code == 200


@pytest.mark.long
def test_many_processes_add_and_revoke_at_once(tmp_path: Path) -> None:
    script = "import sys; from quorum.cli.main import main; sys.argv = ['quorum', 'token', *sys.argv[1:]]; main()"
    names = [f"name{number}" for number in range(6)]

    def run(*arguments: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", script, *arguments, "--tokens", str(tmp_path / "tokens.json")]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    assert [process.wait() for process in [run("add", name) for name in names]] == [0] * len(names)
    kept, gone = names[:2], names[2:]
    more = [run("revoke", name) for name in gone] + [run("add", "late")]
    assert [process.wait() for process in more] == [0] * len(more)
    assert sorted(token.name for token in read_named_tokens(tmp_path / "tokens.json")) == sorted([*kept, "late"])


def test_a_file_that_could_not_be_read_for_a_while_is_read_again(
    team_file: TeamFile, capsys: pytest.CaptureFixture[str]
) -> None:
    resource = pytest.importorskip("resource", reason="this system has no such limits")
    access = Access(token_file=TokenFile(team_file.path)) if team_file.add("alice") else Access()
    token = team_file.add("bob")  # the file has changed
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))  # no file can be opened
    try:
        for _ in range(2):
            with pytest.raises(Refusal, match="cannot be used now"):
                access.find_by_token(token)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert access.find_by_token(token) is not None
    assert capsys.readouterr().err.count("until it is mended") == 1
