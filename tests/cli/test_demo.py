"""Tests of `quorum --version` and `quorum demo`."""

import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from shlex import split
from typing import Any

import pytest
from answering_model import script_answers
from quorum_command import Quorum

from quorum.core.errors import SetupError
from quorum.datasets import sample
from quorum.models import chat_model
from quorum.models.scripted import ScriptedModel
from quorum.retrievers.collection_names import SAMPLE
from quorum.retrievers.embedding_cache import CACHE_FILE


def test_version_is_printed(quorum: Quorum) -> None:
    assert quorum("--version") == (0, f"quorum {version('quorum-rag')}\n", "")


@pytest.fixture
def small_sample(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample's documents, with a sixth of its questions. `make test-offline` runs the demo with all of them."""
    folder = tmp_path_factory.mktemp("package") / "data" / "sample"
    shutil.copytree(sample.find_sample_folder() / "corpus", folder / "corpus")
    questions = (sample.find_sample_folder() / "questions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "questions.jsonl").write_text("".join(questions[::6]), encoding="utf-8")
    monkeypatch.setattr(sample, "PACKAGE_FOLDER", folder.parents[1])


@pytest.mark.long
@pytest.mark.usefixtures("small_sample")
def test_the_demo_answers_and_compares_in_the_folder_that_is_given(
    quorum: Quorum, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, copy_sample_vectors: Callable[[Path], None]
) -> None:
    """The scripted model answers at once; the embedded one would take a minute."""
    copy_sample_vectors(tmp_path / "tour")
    shutil.copy(tmp_path / "tour" / SAMPLE / CACHE_FILE, tmp_path / "tour")  # the comparison indexes the same passages
    model = chat_model("scripted")
    assert isinstance(model, ScriptedModel)
    script_answers(model, "Gustave Eiffel")
    for prompt in ("answer_yes_no", "answer_candidates_yes_no"):
        model.on(prompt, lambda _: "Yes")
    monkeypatch.setenv("QUORUM_MODEL", "scripted")
    monkeypatch.setenv("QUORUM_COLLECTION", "handbook")  # the demo must ignore it
    run = quorum("demo", "tour")
    assert run.code == 0
    assert run.out.count("$ quorum ask ") == 3
    assert run.out.count("Gustave Eiffel\n") == 3
    assert "[[Gustave Eiffel]]" in run.out
    comparison_output = run.out.partition("$ quorum compare ")[2]
    methods = {"concat", "post_fusion", "concat_pf", "pf_concat", "sure", "filco"}
    assert {line.split()[0] for line in comparison_output.splitlines() if line} >= methods
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tour"]
    assert (tmp_path / "tour" / "results" / "report.html").is_file()
    assert "%NM: a right answer had a vote but no majority, %" in " ".join(comparison_output.split())


def test_the_demo_prints_the_commands_that_it_runs(quorum: Quorum, monkeypatch: pytest.MonkeyPatch) -> None:
    settings_of_commands: list[dict[str, Any]] = []
    monkeypatch.setattr("quorum.cli.ask.ask", lambda *args, **settings: settings_of_commands.append(settings))
    monkeypatch.setattr("quorum.cli.compare.compare", lambda *args, **settings: settings_of_commands.append(settings))
    for folder in ("my tour", None):
        settings_of_commands.clear()
        run = quorum("demo", *([folder] if folder else []))
        assert run.code == 0, run.err
        commands = [split(line) for line in run.out.splitlines() if line.startswith("$ ")]
        stores = [settings["store"] for settings in settings_of_commands]
        assert [find_option(command, "--store") for command in commands] == stores
        assert stores == [folder] * 4
        out = settings_of_commands[-1]["out"]
        assert find_option(commands[-1], "--out") == (None if out is None else str(out))


def find_option(command: list[str], name: str) -> str | None:
    """The value of an option of a command line; None if it does not have the option."""
    return command[command.index(name) + 1] if name in command else None


def test_the_demo_refuses_a_file_as_its_folder(quorum: Quorum, tmp_path: Path) -> None:
    (tmp_path / "notes").touch()
    run = quorum("demo", "notes")
    assert (run.code, run.err.count("\n")) == (2, 1)
    assert "notes" in run.err


def test_the_sample_is_found_in_a_checkout_and_in_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sample.find_sample_folder() == Path(__file__).resolve().parents[2] / "data" / "sample"
    installed_sample = tmp_path / "quorum" / "data" / "sample"
    (installed_sample / "corpus").mkdir(parents=True)
    monkeypatch.setattr(sample, "PACKAGE_FOLDER", tmp_path / "quorum")
    assert sample.find_sample_folder() == installed_sample
    (installed_sample / "corpus").rmdir()
    with pytest.raises(SetupError, match="install Quorum again"):
        sample.find_sample_folder()
