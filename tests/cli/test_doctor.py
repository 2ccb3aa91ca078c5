"""`quorum doctor`: what it finds, what it advises, and that the model is called only after its cost was said."""

import io
import json
import sys
from pathlib import Path

import pytest
from openai_bodies import make_error
from openai_server import OpenAIServer
from quorum_command import Quorum

from quorum.cli.doctor_checks import check_packages


def find(run_out: str, subject: str) -> list[dict[str, str]]:
    return [finding for finding in json.loads(run_out)["findings"] if finding["subject"] == subject]


def test_a_sound_place_has_no_fault(quorum: Quorum, tmp_path: Path) -> None:
    (tmp_path / "vell.md").write_text("# Vell\n\nAda Korn designed the tower of Vell in 1874.\n")
    assert quorum("index", "vell.md", "-c", "vell").code == 0
    run = quorum("doctor")
    assert run.code == 0
    assert run.out.endswith("\nEverything checked is sound.\n")
    assert "ok    collection: vell is asked" in run.out
    assert (
        "ok    model: embedded, the small reader that ships with Quorum and needs neither a network nor a key, "
        in run.out
    )
    report = quorum("doctor", "--json")
    assert (report.code, json.loads(report.out)["sound"]) == (0, True)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("options", "typed", "calls"),
    [
        (["--yes"], "", 1),
        ([], "y\n", 1),
        ([], "n\n", 0),
        ([], "\n", 0),
        (["--no-call"], "y\n", 0),
        (["--json", "--yes"], "", 1),
        (["--json"], "n\n", 0),
    ],
)
def test_the_model_is_called_once_if_a_person_agrees_to_the_cost(
    quorum: Quorum,
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    typed: str,
    calls: int,
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    openai_server.reply("yes")
    run = quorum("doctor", "-m", "openai:test", *options)
    assert (run.code, len(openai_server.chats())) == (0, calls)
    if "--yes" not in options and "--no-call" not in options:
        assert "one call to openai:test: about 9 tokens in" in run.err
        assert "no price is known" in run.err
    if "--json" not in options:
        assert ("openai:test answers in" in run.out) == bool(calls)


def test_nobody_is_asked_without_a_terminal(
    quorum: Quorum, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    run = quorum("doctor", "-m", "openai:test")
    assert (run.code, openai_server.chats()) == (0, [])
    assert "-> quorum doctor --yes calls it" in run.out


def test_a_known_price_is_said(quorum: Quorum, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert "about $0.00000" in quorum("doctor", "-m", "openai:gpt-4o-mini").err


def test_a_dead_server_is_a_fault_after_one_try(quorum: Quorum, openai_server: OpenAIServer) -> None:
    openai_server.close()
    run = quorum("doctor", "-m", "openai:test", "--yes")
    assert run.code == 1
    assert f"FAIL  model: The model 'openai:test' at {openai_server.url} does not answer" in run.out
    assert "after one try" in run.out
    assert "\n1 of " in run.out


def test_a_refused_key_a_wrong_setting_and_a_missing_collection_are_faults(
    quorum: Quorum, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.reply(make_error(401, "no such key"))
    run = quorum("doctor", "-m", "openai:test", "--yes", "--json")
    assert run.code == 1
    assert "check OPENAI_API_KEY" in find(run.out, "model")[0]["text"]
    (tmp_path / "vell.md").write_text("# Vell\n\nAda Korn designed the tower of Vell in 1874.\n")
    assert quorum("index", "vell.md", "-c", "vell").code == 0
    run = quorum("doctor", "-c", "nowhere", "--json")
    assert (run.code, find(run.out, "collection")[0]["state"]) == (1, "fault")
    (tmp_path / "quorum.toml").write_text("kk = 3\n")
    run = quorum("doctor", "--json")
    assert (run.code, find(run.out, "settings")[0]["state"]) == (1, "fault")
    assert "quorum.toml: there is no setting 'kk'" in find(run.out, "settings")[0]["text"]


def test_a_store_that_is_no_store_is_a_fault(quorum: Quorum, tmp_path: Path) -> None:
    (tmp_path / "store" / "chroma").mkdir(parents=True)
    (tmp_path / "store" / "chroma" / "chroma.sqlite3").write_bytes(b"no database" * 1000)
    run = quorum("doctor", "--store", str(tmp_path / "store"))
    assert run.code == 1
    assert "FAIL  store: " in run.out


def test_bad_input_is_no_finding(quorum: Quorum) -> None:
    for options in (["--set", "kk=3"], ["--set", "k"], ["--modle", "x"]):
        run = quorum("doctor", *options)
        assert (run.code, run.out) == (2, "")


def test_the_packages_of_this_environment_are_within_the_tried_versions() -> None:
    states = [finding.state for finding in check_packages()]
    assert "fault" not in states
    assert states
