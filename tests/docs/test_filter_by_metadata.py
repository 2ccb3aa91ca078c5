"""The commands of "Filter by metadata" answer, and other commands filter as they do."""

import json
import re
import shlex
from pathlib import Path

import pytest
from quorum_command import Quorum

PAGE = Path(__file__).resolve().parents[2] / "docs" / "documents.md"
QUESTION = "How many weeks of leave do parents get?"
ASK = ("ask", QUESTION, "--collection", "rules", "--method", "concat")


@pytest.fixture
def rules() -> None:
    """The folders that the page indexes."""
    for year, weeks in ((2024, "fourteen"), (2026, "twenty")):
        folder = Path(f"rules-{year}")
        folder.mkdir()
        (folder / "leave.md").write_text(f"# Leave\n\nParents get {weeks} weeks of leave in a year.\n")


@pytest.mark.usefixtures("rules")
def test_the_commands_of_the_page_answer(quorum: Quorum) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("<!-- filter-by-metadata -->")[2]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert block
    runs = [quorum(*shlex.split(line)[1:]) for line in block[1].splitlines()]
    assert [run.code for run in runs] == [0] * 5
    assert [run.out.splitlines()[0] for run in runs[2:]] == ["twenty", "fourteen", "fourteen"]


@pytest.mark.usefixtures("rules")
def test_every_way_to_set_it_filters_and_a_mistake_is_one_sentence(
    quorum: Quorum, monkeypatch: pytest.MonkeyPatch
) -> None:
    for year in (2024, 2026):
        assert quorum("index", f"rules-{year}", "--collection", "rules", "--meta", f"year:={year}").code == 0
    result = json.loads(quorum(*ASK, "--where", "year=2026", "--json").out)
    assert [passage["metadata"]["year"] for passage in result["passages"]] == [2026]
    assert quorum(*ASK, "--set", "where=year=2024").out.splitlines()[0] == "fourteen"
    unknown = quorum("ask", "Which river flows through Orrin?", *ASK[2:], "--where", "year=2024")
    assert "Searched: 1 passage of the collection rules, where year=2024." in unknown.out
    for where, words in (
        (
            "colour=red",
            "'colour'; the keys are: file_type (text), modified (text), source (text), title (text), year (number).",
        ),
        ("year>=abc", "'year' is number; the keys are:"),
        ("year>3000", "No passage of the collection 'rules' passes where year>3000"),
        ("nonsense", "where=nonsense does not fit"),
    ):
        run = quorum(*ASK, "--where", where)
        assert run.code == 2
        assert words in run.err
        assert len(run.err.splitlines()) == 1
    assert "give one of them" in quorum(*ASK, "--where", "year=2024", "--set", "where=year=2026").err
    Path("quorum.toml").write_text('where = ["year>=2020", {year = 2024}]\n')
    assert quorum(*ASK).out.splitlines()[0] == "fourteen"
    monkeypatch.setenv("QUORUM_WHERE", "year=2026")
    assert quorum(*ASK).out.splitlines()[0] == "twenty"
    assert "where = year=2026 (QUORUM_WHERE)" in quorum("config", "where").out


@pytest.mark.usefixtures("rules")
def test_an_evaluation_filters_and_does_not_mix_filters_in_a_folder(quorum: Quorum) -> None:
    for year in (2024, 2026):
        quorum("index", f"rules-{year}", "--collection", "rules", "--meta", f"year:={year}")
    record = {"id": "1", "question": QUESTION, "answers": ["twenty"], "passages": [], "gold": []}
    Path("questions.jsonl").write_text(json.dumps(record))
    command = ("eval", "questions.jsonl", "--collection", "rules", "--retriever", "hybrid", "--out", "out", "--where")
    methods = ("--methods", "concat,concat[where=year<2026]")
    assert quorum(*command, "year>=2024", *methods).code == 0
    rows = [json.loads(line) for line in Path("out/results.jsonl").read_text().splitlines()]
    assert [row["answer"] for row in rows][1] == "fourteen"
    config = json.loads(Path("out/config.json").read_text())["methods"]
    assert [column["where"] for column in config.values()] == ["year>=2024", "year<2026"]
    other = quorum(*command, "year=2026", *methods)
    assert other.code == 2
    assert "where" in other.err
