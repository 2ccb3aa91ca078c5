"""What `quorum index` and `quorum collections` print and store, and what they say if they are interrupted."""

import json
import os
from pathlib import Path

import pytest
from awkward_documents import FILLER_TEXT
from quorum_command import Quorum

from quorum.cli.progress import TimeLeft, describe_index_progress, format_duration, show_index_progress
from quorum.documents.document import Document
from quorum.documents.readers import READERS
from quorum.retrievers.index_report import IndexProgress


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with one Markdown document."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "handbook.md").write_text("# Handbook\n\n## Leave\n\nParents may take fourteen weeks of leave.\n")
    return folder


def test_without_a_name_the_collection_is_named_after_the_folder(
    docs: Path, quorum: Quorum, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert quorum("index", docs).out == "docs: 1 added; 1 passage in all.\n"
    assert quorum("index", docs).out == "docs: 1 unchanged; 1 passage in all.\n"
    assert quorum("index", docs / "handbook.md").out == "handbook: 1 added; 1 passage in all.\n"
    monkeypatch.setenv("QUORUM_COLLECTION", "notes")
    assert quorum("index", docs).out == "notes: 1 added; 1 passage in all.\n"


def test_the_last_line_summarizes_the_indexing(docs: Path, quorum: Quorum) -> None:
    (docs / "valley.txt").write_text(FILLER_TEXT)
    (docs / "valley 2.txt").write_text(FILLER_TEXT)
    (docs / "latin.txt").write_bytes("Köln".encode("latin-1"))
    (docs / "image.png").write_bytes(b"\x89PNG")
    (docs / "old.bak").write_text("x")
    (docs / ".gitignore").write_text("*.bak\n")
    run = quorum("index", docs, "--collection", "notes")
    assert run.out == "notes: 4 added, 1 skipped; 3 passages in all; 1 duplicate passage left out.\n"
    assert run.err.splitlines() == [
        f"quorum: skipped {docs}/image.png: files of type '.png' are not read",
        f"quorum: {docs}/latin.txt: read as Windows-1252, which was assumed: "
        "the text is not UTF-8 and names no encoding",
        "quorum: 1 file or folder left out by .gitignore; --no-gitignore reads them",
    ]
    assert run.code == 0
    strict_run = quorum("index", docs, "--collection", "notes", "--strict", "--exclude", "latin.*")
    assert (strict_run.code, strict_run.out.startswith("notes: 3 unchanged, 1 skipped;")) == (1, True)
    assert quorum("index", docs, "--collection", "notes", "--strict", "--include", "*.md").code == 0


def test_misleading_file_names_are_escaped_and_many_skipped_files_are_counted(docs: Path, quorum: Quorum) -> None:
    (docs / "a\nquorum: all is well\u202e.png").write_bytes(b"x")
    for number in range(30):
        (docs / f"{number:02}.jpg").write_bytes(b"x")
    err = quorum("index", docs, "--collection", "notes").err.splitlines()
    assert len(err) == 2
    assert err[0].startswith(
        f"quorum: skipped 30 files ({docs}/00.jpg, {docs}/01.jpg, {docs}/02.jpg, ...): files of type"
    )
    assert "a\\nquorum: all is well\\u202e.png: files of type '.png'" in err[1]


def test_ctrl_c_reports_the_stored_part_and_the_same_command_continues(
    docs: Path, quorum: Quorum, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupt comes while the second file is read. Of the first file, one batch is stored by then: 128 of its 140
    passages.
    """

    def raise_interrupt(data: bytes, name: str) -> Document:
        raise KeyboardInterrupt

    monkeypatch.setitem(READERS, ".later", raise_interrupt)
    (docs / "a.txt").write_text(" ".join(f"Gate {n} opens at {n}." for n in range(140)))
    (docs / "b.later").write_text("x")
    command = ("index", docs / "a.txt", docs / "b.later", "--collection", "notes", "--words", "5")
    run = quorum(*command)
    assert (run.code, run.err) == (
        130,
        "quorum: Stopped: 128 passages kept in notes; the same command continues from there.\n",
    )
    monkeypatch.setitem(READERS, ".later", "plain_text")
    assert quorum(*command).out == "notes: 1 added, 1 replaced; 141 passages in all.\n"
    monkeypatch.setitem(READERS, ".later", raise_interrupt)
    run = quorum("index", docs / "b.later", "--collection", "other")
    assert (run.code, "Stopped before anything was stored" in run.err) == (130, True)


def test_without_a_terminal_a_line_comes_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 1.0, 9.9, 10.0, 15.0, 20.0])
    with show_index_progress(clock=lambda: next(times)) as watch:
        for number in range(1, 6):
            watch(IndexProgress(number * 100, number, 10, number / 10, f"/docs/{number}.txt"))
    assert capsys.readouterr().err.splitlines() == [
        "quorum: 300 passages from 3 of 10 files, 30%, about 25 s left, at 3.txt",
        "quorum: 500 passages from 5 of 10 files, 50%, about 20 s left, at 5.txt",
    ]


def test_the_remaining_time_is_shown_once_stable_and_follows_the_speed() -> None:
    time_left = TimeLeft(now=0.0)
    assert time_left.update(0.02, now=1.0) is None
    steady_estimates = [time_left.update(0.02 * second, now=float(second)) for second in range(5, 26)]
    assert steady_estimates[-1] == pytest.approx(25.0)
    later_estimates = [time_left.update(0.5 + 0.005 * second, now=25.0 + second) or 0.0 for second in range(1, 90)]
    assert later_estimates[0] == pytest.approx(25, rel=0.1)  # one slow second changes little
    # after 89 slower seconds 0.945 of the work is done, and the rest goes on at 0.005 a second
    assert later_estimates[-1] == pytest.approx((1 - 0.945) / 0.005, rel=0.2)


def test_durations_are_rounded() -> None:
    assert [format_duration(seconds) for seconds in (1, 42, 58, 700, 7500)] == [
        "5 s",
        "40 s",
        "1 min",
        "12 min",
        "2 h 5 min",
    ]
    assert (
        describe_index_progress(IndexProgress(1240, 3, 10, 0.31, "x"), None) == "1,240 passages from 3 of 10 files, 31%"
    )


def test_an_answer_names_its_place_in_the_document(docs: Path, quorum: Quorum) -> None:
    quorum("index", docs, "--collection", "notes")
    ask_command = ("ask", "How many weeks may parents take?", "--collection", "notes", "--method", "concat")
    run = quorum(*ask_command)
    assert "1. Handbook  handbook.md, Leave\n" in run.out
    passage = json.loads(quorum(*ask_command, "--json").out)["passages"][0]
    assert (passage["where"], passage["link"]) == ("handbook.md, Leave", f"file://{docs}/handbook.md")
    assert passage["places"][0]["headings"] == ["Leave"]
    assert passage["id"] not in run.out
    trace = quorum(*ask_command, "--trace").out
    assert passage["id"] in trace
    assert "score" in trace


def test_collections_are_listed_shown_renamed_and_removed(docs: Path, quorum: Quorum) -> None:
    assert "There are no collections yet" in quorum("collections").out
    quorum("index", docs, "--collection", "notes")
    (line,) = quorum("collections").out.splitlines()[1:]
    assert line.split()[:3] == ["notes", "1", "1"]
    (row,) = json.loads(quorum("collections", "list", "--json").out)
    assert (row["passages"], row["files"], row["made_for"], row["unfinished"]) == (1, 1, None, False)
    assert row["bytes"] > 100
    assert row["changed"].startswith("20")  # a date
    assert "  handbook.md: 1 passage" in quorum("collections", "show", "notes").out.splitlines()
    assert quorum("collections", "rename", "notes", "minutes").out == "notes is now minutes.\n"
    assert "fourteen" in quorum("ask", "How many weeks?", "--collection", "minutes", "--method", "concat").out
    run = quorum("collections", "rename", "minutes", "minutes")
    assert (run.code, "already" in run.err) == (2, True)
    assert quorum("collections", "rename", "minutes", "sample").code == 2  # a name that Quorum reserves
    assert quorum("collections", "show", "notes").code == 2
    assert "There is no collection 'minutes'" in quorum("collections", "--store", "other", "rm", "minutes").err
    quorum("index", docs, "--collection", "more")
    run = quorum("collections", "rm", "minutes", "more")
    assert run.out == "minutes, more are removed, with all texts, vectors and indexes.\n"
    for command in (("rm", "minutes"), ("show", "minutes"), ("export", "minutes"), ("rename", "minutes", "notes")):
        run = quorum("collections", *command)
        assert run.code == 2
        assert "There is no collection 'minutes'" in run.err
        assert "it has none yet." in run.err
        assert "quorum index" not in run.err


def test_an_exported_collection_is_imported_unchanged(docs: Path, quorum: Quorum, tmp_path: Path) -> None:
    (docs / "facts.jsonl").write_text('{"id": "f1", "title": "Lumen", "text": "The lake is fed by the Sarn."}\n')
    quorum("index", docs, "--collection", "notes")
    exported_text = quorum("collections", "export", "notes").out
    assert quorum("collections", "export", "notes", "--out", tmp_path / "out.jsonl").code == 0
    assert (tmp_path / "out.jsonl").read_text("utf-8") == exported_text
    run = quorum("collections", "import", tmp_path / "out.jsonl", "--collection", "again")
    assert run.out == "again: 2 added; 2 passages in all.\n"
    assert quorum("collections", "export", "again").out == exported_text
    os.mkfifo(tmp_path / "pipe")
    run = quorum("collections", "import", tmp_path / "pipe", "--collection", "again")
    assert (run.code, "a pipe, not a regular file" in run.err) == (2, True)
    for folder in ("no", "out.jsonl"):  # the first is missing, the second is a file
        run = quorum("collections", "export", "notes", "--out", tmp_path / folder / "out.jsonl")
        assert (run.code, "cannot be written" in " ".join(run.err.split())) == (2, True)


def test_collections_made_by_evaluations_are_marked_and_cleared(docs: Path, quorum: Quorum, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text('{"id": "1", "question": "How many weeks?", "answers": ["fourteen"]}\n')
    quorum("index", docs, "--collection", "notes")
    quorum("eval", tmp_path / "q.jsonl", "--methods", "concat", "--corpus", docs, "--out", tmp_path / "out")
    purposes = {item["name"]: item["made_for"] for item in json.loads(quorum("collections", "list", "--json").out)}
    (evaluation_collection,) = [name for name in purposes if name != "notes"]
    assert purposes == {"notes": None, evaluation_collection: "evaluation"}
    assert "made by an evaluation from docs" in " ".join(quorum("collections").out.split())
    assert quorum("collections", "clear").out == (
        f"1 collection removed: {evaluation_collection}, with all texts, vectors and indexes.\n"
    )
    assert [item["name"] for item in json.loads(quorum("collections", "list", "--json").out)] == ["notes"]


@pytest.mark.parametrize("path", ["pipe", "/dev/zero"])
def test_a_path_that_is_no_file_or_folder_is_refused_in_one_sentence(
    path: str, docs: Path, quorum: Quorum, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    quorum("index", docs, "--collection", "notes")
    run = quorum("index", tmp_path / path, "--collection", "notes")
    assert (run.code, run.out, run.err.count("\n")) == (2, "", 1)
    assert "cannot be indexed" in run.err


@pytest.mark.parametrize("where", ["--passages", "examples", "eval"])
@pytest.mark.parametrize("endless_file", ["pipe", "/dev/zero"])
@pytest.mark.usefixtures("sample_vectors")
def test_files_that_never_end_are_refused(where: str, endless_file: str, quorum: Quorum, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    path = str(tmp_path / endless_file)
    command = {
        "--passages": ("ask", "Who?", "--passages", path),
        "examples": ("ask", "Who?", "--method", "cot", "--set", f"examples={path}"),
        "eval": ("eval", path, "--methods", "direct"),
    }[where]
    run = quorum(*command)
    assert run.code == 2
    assert "not a regular file" in run.err
    assert len(run.err.splitlines()) == 1


def test_a_file_that_is_gone_is_told_in_the_words_of_the_command(quorum: Quorum, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"The {name} is here.", encoding="utf-8")
    assert quorum("index", "a.txt", "b.txt", "-c", "docs").code == 0
    (tmp_path / "b.txt").unlink()
    run = quorum("index", "a.txt", "b.txt", "-c", "docs")
    assert run.code == 0
    assert "b.txt: no longer exists; its passages stay in the collection, and --prune removes them\n" in run.err
