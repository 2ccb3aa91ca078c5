"""The README tells the truth: its tables are the code's, its commands and Python run."""

import re
import shlex
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from cli.main import main
from core.context import Context
from docs.tables import filled

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(sh|python)\n(.*?)```", README, re.DOTALL)
COMMANDS = [line for kind, block in BLOCKS if kind == "sh" for line in block.splitlines() if line.startswith("quorum ")]
SCRIPTS = [block for kind, block in BLOCKS if kind == "python"]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like a fresh clone, in which all of the README's lines run one after the other."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("data", "README.md", "CONTRIBUTING.md"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_run(
    line: str, workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workplace)
    with pytest.raises(SystemExit) as end:
        main(shlex.split(line)[1:])
    out, err = capsys.readouterr()
    assert not end.value.code, err
    assert out.strip()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.splitlines()[0])
def test_python_runs(
    script: str, workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workplace)
    exec(compile(script, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out.strip()


def test_the_tables_are_up_to_date() -> None:
    assert filled(README) == README, "run: make readme"


def test_the_first_block_holds_two_commands_of_the_makefile() -> None:
    targets = re.findall(r"^(\w+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    lines = [line.split("#")[0].split() for line in BLOCKS[0][1].splitlines()]
    assert [word for word, _ in lines] == ["make", "make"]
    assert {target for _, target in lines} <= set(targets)


def test_every_folder_of_the_house_is_named() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"][
        "packages"
    ]
    assert all(f"| `{package}/` |" in README for package in packages)


@pytest.mark.parametrize("link", sorted({link for link in re.findall(r"\]\(([^)]+)\)", README) if "://" not in link}))
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / link.partition("#")[0]).exists()


def test_every_setting_has_its_line_in_the_example() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    named = set(re.findall(r"^#QUORUM_(\w+)=", example, re.MULTILINE))
    assert named - {"HIDE_PASSAGES"} == {part.name.upper() for part in fields(Context)}  # that one is no setting


def test_the_values_of_the_example_are_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUORUM_JOURNAL")
    plain = Context()
    for name, value in re.findall(
        r"^#(QUORUM_\w+)=(.*)$", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE
    ):
        monkeypatch.setenv(name, value)
    assert Context() == plain
