"""Proxies, certificates, keys and home folders in the environment: each works, or one sentence says what is wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum.serving.address import check_tokens

PASSAGES = '{"id": "1", "title": "", "text": "The Orm is a river in Vell."}\n'
SOCKS, BROKEN = "socks5://127.0.0.1:1", "http://[::1"
MODEL = ("--model", "openai:m", "--method", "concat")
STORE = ("--store", "https://chroma.example", "--retriever", "bm25")
# (variables, options of quorum ask, what the sentence says)
PROBLEMS: list[tuple[dict[str, str], tuple[str, ...], str]] = [
    (
        {"ALL_PROXY": SOCKS, "OPENAI_BASE_URL": "https://api.example/v1"},
        MODEL,
        "pip install socksio, or unset ALL_PROXY",
    ),
    (
        {"HTTPS_PROXY": BROKEN, "OPENAI_BASE_URL": "https://api.example/v1"},
        MODEL,
        f"HTTPS_PROXY={BROKEN} is no address",
    ),
    ({"https_proxy": "ftp://127.0.0.1:1"}, STORE, "https_proxy=ftp://127.0.0.1:1 is no address"),
    ({"ALL_PROXY": SOCKS}, STORE, "pip install socksio, or unset ALL_PROXY"),
    ({"SSL_CERT_FILE": "/nowhere/ca.pem"}, MODEL, "SSL_CERT_FILE=/nowhere/ca.pem names a file that does not exist"),
    ({"SSL_CERT_FILE": "passages.jsonl"}, MODEL, "SSL_CERT_FILE=passages.jsonl cannot be read as certificates"),
    ({"OPENAI_API_KEY": "sk-“abc”"}, MODEL, "OPENAI_API_KEY holds the character “ (U+201C), which no key has"),
    ({"OPENAI_API_KEY": "sk-a\nbc"}, MODEL, "OPENAI_API_KEY holds the character U+000A"),
    ({"CHROMA_API_KEY": "key…"}, STORE, "CHROMA_API_KEY holds the character … (U+2026)"),
    ({"CHROMA_HEADERS": '{"X-Team": "“a”"}'}, STORE, "The header X-Team in CHROMA_HEADERS holds the character “"),
]


@pytest.mark.parametrize(
    ("variables", "options", "words"), PROBLEMS, ids=[f"{next(iter(one))}-{o[0][2:]}" for one, o, _ in PROBLEMS]
)
def test_a_mistake_in_the_environment_is_one_sentence(
    variables: dict[str, str],
    options: tuple[str, ...],
    words: str,
    quorum: Quorum,
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("passages.jsonl").write_text(PASSAGES)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    given = () if "--store" in options else ("--passages", "passages.jsonl")
    outcome = quorum("ask", "Where is the Orm?", *given, *options)
    assert outcome.code == 2
    assert words in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
    assert not openai_server.requests


def test_a_wrong_key_is_told_before_anything_is_indexed(
    quorum: Quorum, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-“abc”")
    assert "U+201C" in quorum("ask", "Where is the Orm?", *MODEL).err
    assert not Path(".quorum").exists()


@pytest.mark.parametrize("proxy", [SOCKS, "http://127.0.0.1:1"])
def test_a_server_on_this_machine_needs_no_proxy(
    proxy: str,
    quorum: Quorum,
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    Path("passages.jsonl").write_text(PASSAGES)
    monkeypatch.setenv("ALL_PROXY", proxy)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    openai_server.reply("in Vell")
    outcome = quorum("ask", "Where is the Orm?", "--passages", "passages.jsonl", *MODEL)
    assert outcome.out.startswith("in Vell")
    assert "proxy" not in outcome.err.lower()
    assert not caplog.records
    assert quorum("index", "passages.jsonl", "-c", "orm", "--embeddings", "openai:e").code == 0


def test_a_token_of_the_server_is_a_key_too() -> None:
    with pytest.raises(Exception, match=r"The token holds the character “"):
        check_tokens("127.0.0.1", ["“0123456789abcdef”"])


@pytest.mark.long
def test_a_user_without_a_home_folder_can_ask(tmp_path: Path) -> None:
    """As in a container with --user 12345 and an empty environment: the user database does not know the user."""
    code = (
        "import pwd\n"
        "def forget(number): raise KeyError(number)\n"
        "pwd.getpwuid = forget\n"
        "from quorum.cli.main import main\n"
        "main(['collections', '--store', 's'])"
    )
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    (tmp_path / "s/chroma").mkdir(parents=True)
    outcome = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (outcome.returncode, outcome.stderr.count("Traceback")) == (0, 0), outcome.stderr
