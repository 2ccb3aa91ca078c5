"""`langsmith:NAME` in place of a file of questions: a data set of LangSmith is read, at one version."""

import json
import stat
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from langsmith.utils import get_env_var
from langsmith_server import Workspace
from quorum_command import Quorum

import quorum
from quorum import Context, SetupError
from quorum.evaluation.run.config_file import read_json_file
from quorum.evaluation.run.langsmith_questions import find_question_file

PASSAGES = [{"id": "1", "title": "", "text": "The quay of Brae was laid by Ivo Tarn in 1874."}]
FIRST, SECOND = "2026-03-01T08:00:00+00:00", "2026-04-01T08:00:00+00:00"


def make(question: str = "Who laid the quay of Brae?", answer: Any = "Ivo Tarn", **inputs: Any) -> dict[str, Any]:
    return {"inputs": {"question": question, "passages": PASSAGES, **inputs}, "outputs": {"answer": answer}}


@pytest.fixture
def workspace(monkeypatch: pytest.MonkeyPatch, isolate: None) -> Iterator[Workspace]:
    """A LangSmith workspace that the environment variables name, with a data set of one question."""
    workspace = Workspace()
    monkeypatch.setenv("LANGSMITH_ENDPOINT", workspace.url)
    monkeypatch.setenv("LANGSMITH_API_KEY", "ls-key-4711")
    get_env_var.cache_clear()
    workspace.put_examples("quays", make(), at=FIRST, tag="spring")
    yield workspace
    workspace.close()
    get_env_var.cache_clear()


def test_all_pages_are_asked_and_the_version_is_recorded(workspace: Workspace) -> None:
    many = [make(f"Who laid quay {number} of Brae?") for number in range(230)]
    id_ = workspace.put_examples("quays", *many, at=SECOND)
    quorum.evaluate("langsmith:quays", "concat", out="out", limit=2)
    config = read_json_file(Path("out/config.json"))
    assert config["data"]["langsmith"] == {"name": "quays", "id": id_, "version": SECOND}
    [file] = Path(".quorum/langsmith").glob("*/quays.jsonl")
    assert {json.loads(line)["id"] for line in file.read_text().splitlines()} == set(workspace.examples)
    assert len(workspace.examples) == 231


def test_a_run_goes_on_with_the_questions_with_which_it_began(workspace: Workspace) -> None:
    quorum.evaluate("langsmith:quays", "concat", out="out")
    workspace.put_examples("quays", make("When was the quay of Brae laid?", "1874"), at=SECOND)
    workspace.requests.clear()
    assert quorum.evaluate("langsmith:quays", "concat", out="out").table[0]["n"] == 1
    assert not workspace.requests
    assert quorum.evaluate("langsmith:quays", "concat", out="new").table[0]["n"] == 2
    assert quorum.evaluate("langsmith:quays@spring", "concat", out="old").table[0]["n"] == 1
    assert quorum.evaluate("langsmith:quays@2026-03-02", "concat", out="older").table[0]["n"] == 1
    with pytest.raises(SetupError, match="another configuration"):
        quorum.evaluate("langsmith:quays@latest", "concat", out="out")


def test_an_unfinished_run_without_a_named_folder_is_continued_first(workspace: Workspace) -> None:
    folder = quorum.evaluate("langsmith:quays", "concat").folder
    (folder / "summary.json").unlink()  # as if it had been stopped
    workspace.put_examples("quays", make("When was the quay of Brae laid?", "1874"), at=SECOND)
    continued = quorum.evaluate("langsmith:quays", "concat")
    assert (continued.folder, continued.table[0]["n"]) == (folder, 1)
    assert quorum.evaluate("langsmith:quays", "concat").table[0]["n"] == 2


def test_a_comparison_takes_it_and_the_report_names_it(quorum: Quorum, workspace: Workspace) -> None:
    run = quorum("compare", "given", "langsmith:quays", "--methods", "concat,post_fusion", "--out", "out")
    assert run.code == 0, run.err
    assert "LangSmith's quays (2026-03-01T08:00)" in unescape(Path("out/report.html").read_text())
    assert quorum("data", "convert", "langsmith:quays", "--out", "quays.jsonl").code == 0
    [record] = map(json.loads, Path("quays.jsonl").read_text().splitlines())
    assert (record["answers"], record["passages"]) == (["Ivo Tarn"], PASSAGES)


def test_results_go_back_to_the_examples_from_which_they_came(quorum: Quorum, workspace: Workspace) -> None:
    run = quorum("eval", "langsmith:quays", "--methods", "concat", "--out", "out", "--langsmith", "quays")
    assert run.code == 0, run.err
    assert len(workspace.examples) == 1
    roots = [trace.fields for trace in workspace.list_traces()]
    assert [fields["reference_example_id"] for fields in roots] == list(workspace.examples)


def test_the_file_is_private(workspace: Workspace) -> None:
    path = find_question_file(Path("langsmith:quays"), Context().store)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("langsmith:mills", r"LangSmith has no data set 'mills' \(asked at http://127.*\); it has: quays\."),
        ("langsmith:quays@autumn", "has no version 'autumn'"),
        ("langsmith:quays@2020-01-01", "has no version '2020-01-01'"),
        ("langsmith:", "names no data set"),
    ],
)
def test_what_is_missing_is_named(data: str, sentence: str, workspace: Workspace) -> None:
    with pytest.raises(SetupError, match=sentence):
        quorum.evaluate(data, "concat")


def test_a_refused_key_and_a_missing_one_are_one_sentence(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.refused_paths.add("/datasets")
    with pytest.raises(
        SetupError, match=r"The data set 'quays' of LangSmith cannot be read .* check LANGSMITH_API_KEY"
    ):
        quorum.evaluate("langsmith:quays", "concat")
    workspace.requests.clear()
    for name in ("LANGSMITH_ENDPOINT", "LANGSMITH_API_KEY"):
        monkeypatch.delenv(name)
    get_env_var.cache_clear()
    with pytest.raises(SetupError, match="langsmith:quays needs an account: set LANGSMITH_API_KEY"):
        quorum.evaluate("langsmith:quays", "concat")
    assert not workspace.requests


def test_a_bad_example_is_named_or_skipped(workspace: Workspace) -> None:
    workspace.put_examples("quays", {"inputs": {"a": "b", "c": "d"}, "outputs": {"answer": "x"}}, at=SECOND)
    with pytest.raises(SetupError, match="its inputs have the keys a, c, of which none is a question"):
        quorum.evaluate("langsmith:quays", "concat")
    assert quorum.evaluate("langsmith:quays", "concat", skip_bad=True).table[0]["n"] == 1
