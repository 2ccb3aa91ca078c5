"""The documentation is correct: its commands and Python examples run; its tables, links and names match the code."""

import re
import shlex
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from docs.tables import fill_marks, find_method_sections, make_generated_parts
from quorum.cli.main import main
from quorum.core.context import Context
from quorum.graphs import METHODS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CODE_BLOCKS = re.findall(r"```(sh|python)\n(.*?)```", README, re.DOTALL)
COMMANDS = [
    line for kind, block in CODE_BLOCKS if kind == "sh" for line in block.splitlines() if line.startswith("quorum ")
]
DOC_PAGES = sorted((ROOT / "docs").rglob("*.md"))
RECIPES = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
# The Python examples, without the one that needs a running LangGraph server, and those that `make test-stores` runs.
ELSEWHERE = ("RemoteGraph", "langchain_qdrant", "langchain_postgres")
SCRIPTS = [block for kind, block in CODE_BLOCKS if kind == "python"] + [
    block
    for block in re.findall(r"```python\n(.*?)```", RECIPES, re.DOTALL)
    if not any(name in block for name in ELSEWHERE)
]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory, copy_sample_vectors: Callable[[Path], None]) -> Path:
    """A folder like a fresh clone, in which all commands and Python examples run one after the other."""
    folder = tmp_path_factory.mktemp("clone")
    copy_sample_vectors(folder / ".quorum")
    for name in ("data", "docs"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.mark.long
def test_commands_in_the_readme_run(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One test runs all commands, because later commands need the files of earlier ones."""
    monkeypatch.chdir(workplace)
    for line in COMMANDS:
        with pytest.raises(SystemExit) as end:
            main(shlex.split(line, comments=True)[1:])
        out, err = capsys.readouterr()
        assert not end.value.code, f"{line}: {err}"
        assert out.strip(), line


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.splitlines()[0])
def test_python_examples_in_the_docs_run(
    script: str, workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workplace)
    exec(compile(script, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out.strip()


def test_generated_parts_of_the_docs_are_up_to_date() -> None:
    stale = []
    for file, parts in make_generated_parts().items():
        text = (ROOT / file).read_text(encoding="utf-8")
        if fill_marks(text, parts) != text:
            stale.append(file)
    assert stale == [], "run: make readme"


def test_every_method_has_one_section_with_its_graph() -> None:
    assert sorted(name for names in find_method_sections().values() for name in names) == sorted(METHODS)
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in find_method_sections())
    assert text.count("<details><summary>graph</summary>") == len(METHODS)


def test_the_first_code_block_of_the_readme_holds_two_commands_of_the_makefile() -> None:
    targets = re.findall(r"^(\w+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    commands = [line.split("#")[0].split() for line in CODE_BLOCKS[0][1].splitlines()]
    assert [program for program, _ in commands] == ["make", "make"]
    assert {target for _, target in commands} <= set(targets)


def test_contributing_names_every_folder_of_the_package() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    folders = {f"quorum/{path.name}" for path in (ROOT / "quorum").iterdir() if (path / "__init__.py").is_file()}
    folders = {folder for folder in folders if not (ROOT / folder).is_symlink()}
    expected = folders | {"graphs", "nodes", "retrievers", "tests", "notebooks"}
    assert [folder for folder in sorted(expected) if f"`{folder}/`" not in text] == []


def test_the_readme_is_short() -> None:
    assert README.count("\n") <= 150


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(path.relative_to(ROOT).as_posix() for path in DOC_PAGES)]
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in link:
            file, _, anchor = link.partition("#")
            target = (ROOT / page).parent / file if file else ROOT / page
            assert target.exists(), link
            assert not anchor or anchor in list_anchors(target.read_text(encoding="utf-8")), link


def list_anchors(text: str) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


# What follows QUORUM_ in the variables that are not settings.
OTHER_VARIABLES = {"HIDE_PASSAGES", "RERANK_API_KEY", "RERANK_BASE_URL", "TOKEN", "TOKEN_FILE", "LOG_FILE"}


def test_every_setting_has_its_line_in_env_example() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    settings = set(re.findall(r"^#QUORUM_(\w+)=", example, re.MULTILINE))
    assert settings == {setting.name.upper() for setting in fields(Context)} | OTHER_VARIABLES


def test_env_example_describes_every_setting_as_the_docs_do() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    settings_page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    for comment, name in re.findall(r"^# (.+)\n#QUORUM_(\w+)=", example, re.MULTILINE):
        if name not in OTHER_VARIABLES:
            described_line = rf"^\| `{name.lower()}` \|.*\| {re.escape(comment)} \|$"
            assert re.search(described_line, settings_page, re.MULTILINE), name


def test_the_values_in_env_example_are_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUORUM_JOURNAL")  # tests/conftest.py sets it
    defaults = Context()
    for name, value in re.findall(
        r"^#(QUORUM_\w+)=(.*)$", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE
    ):
        monkeypatch.setenv(name, value)
    assert Context() == defaults


def test_every_test_that_the_docs_name_exists() -> None:
    """docs/methods.md says which test checks each departure from a paper."""
    code = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("*.py")))
    for file in DOC_PAGES:
        text = file.read_text(encoding="utf-8")
        assert [name for name in re.findall(r"`(test_\w+)`", text) if f"def {name}(" not in code] == [], file.name
        assert [path for path in re.findall(r"`(tests/[\w/.]+)`", text) if not (ROOT / path).exists()] == [], file.name
