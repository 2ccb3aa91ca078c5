"""The help: commands in groups, no cut line, short options, completion in bash."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from quorum_command import Quorum
from retriever_names import LISTED_RETRIEVERS, PLAIN_RETRIEVERS

from quorum.cli.help import COMMANDS as GROUPS
from quorum.cli.main import get_command


def list_commands(group: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Every command and group below `group`, with its path."""
    found = []
    for name, command in group.commands.items():
        found.append(((*path, name), command))
        if hasattr(command, "commands"):
            found += list_commands(command, (*path, name))
    return found


COMMANDS = list_commands(get_command())


@pytest.mark.parametrize("width", ["80", "100"])
def test_the_help_lists_every_command_in_a_group_and_cuts_no_line(
    quorum: Quorum, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    run = quorum("--help")
    assert run.code == 0
    titles = re.findall(r"^(\S.*):$", run.out, re.MULTILINE)
    assert titles == ["Options", *GROUPS]
    listed = re.findall(r"^  ([a-z]+) {2,}\S", run.out, re.MULTILINE)
    assert sorted(listed) == sorted(name for (name, *rest), _ in COMMANDS if not rest)
    assert "..." not in run.out.replace("[ARGS]...", "")
    assert max(map(len, run.out.splitlines())) <= int(width)
    for name in ("eval", "compare", "compose", "calibrate", "gate", "experiment"):  # the map: which one?
        assert f"{name} " in run.out.rpartition("Which one?")[2]


@pytest.mark.parametrize("path", [path for path, command in COMMANDS if hasattr(command, "commands")])
def test_the_help_of_a_group_gives_each_commands_first_sentence_in_full(quorum: Quorum, path: tuple[str, ...]) -> None:
    run = quorum(*path, "--help")
    assert (run.code, "..." in run.out.replace("[ARGS]...", "")) == (0, False)


def test_the_options_of_a_server_come_in_groups(quorum: Quorum) -> None:
    run = quorum("serve", "--help")
    titles = re.findall(r"^(\S.*):$", run.out, re.MULTILINE)
    kept, watch = "What is kept", "Promises and labels"
    assert titles == ["Address and access", "What clients may ask", "What they may spend", kept, watch, "Options"]
    group = {title: run.out.split(f"{title}:")[1].split("\n\n")[0] for title in titles}
    assert "--token " in group["Address and access"]
    assert "--log-file" in group[kept]
    assert "--help" in group["Options"]


def test_every_command_takes_the_short_options_of_its_long_ones() -> None:
    missing = [
        (path, long)
        for path, command in COMMANDS
        for option in command.params
        for long, short in (("--k", "-k"), ("--model", "-m"), ("--models", "-m"), ("--collection", "-c"))
        if long in option.opts and short not in option.opts
    ]
    assert missing == []


@pytest.mark.parametrize("path", [path for path, command in COMMANDS if not hasattr(command, "commands")])
def test_a_mistyped_option_is_one_sentence(quorum: Quorum, path: tuple[str, ...]) -> None:
    run = quorum(*path, "--colection", "x")
    assert (run.code, run.out) == (2, "")
    assert re.search("No such option:? .?--colection", run.err)  # Typer and Click write it in two ways


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.long  # starts the command eight times
def test_completion_installs_and_completes_in_bash(tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    command = bin_folder / "quorum"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m quorum "$@"\n')
    command.chmod(0o755)
    (tmp_path / "home").mkdir()
    environment = dict(os.environ) | {
        "HOME": str(tmp_path / "home"),
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
    }
    script = """
        quorum --install-completion >/dev/null && source ~/.bashrc && complete -p quorum || exit 1
        press_tab() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _quorum_completion quorum; echo "${COMPREPLY[*]}"; }
        press_tab quorum comp
        press_tab quorum ask --method conc
        press_tab quorum eval questions.jsonl --methods sure,conc
        press_tab quorum ask --set temp
        press_tab quorum prompts show valid
        press_tab quorum experiment sure-table-4
    """
    run = subprocess.run(
        ["bash", "-c", script], env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
    )
    assert [set(line.split()) for line in run.stdout.splitlines()[1:]] == [
        {"compare", "compose"},
        {"concat", "concat_pf"},
        {"sure,concat", "sure,concat_pf"},
        {"temperature="},
        {"validity", "validity.plain"},
        {"sure-table-4"},
    ]


def test_help_and_settings_name_every_retriever() -> None:
    described = [
        option.help
        for _, command in COMMANDS
        for option in command.params
        if {"--retriever", "--retrievers"} & {*getattr(option, "opts", ())}
    ]
    assert len(described) > 5
    assert all(name in text for name in PLAIN_RETRIEVERS for text in described)
    settings = (Path(__file__).resolve().parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
    assert LISTED_RETRIEVERS.replace(", colbert", " or colbert") in settings
