"""Uploaded documents: unsafe names are cleaned, unreadable files are reported, and no file is left over."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.retrievers.collections import list_collections
from quorum.retrievers.store import open_store
from quorum.serving.documents.upload_names import LONGEST_NAME, MAX_NAME_BYTES, clean_name, make_unique_names
from quorum.ui.uploads import (
    IndexingJob,
    SaveUpload,
    check_upload_collection,
    index_uploads,
)


@given(st.text(st.characters(), max_size=300) | st.text("漢é.\ud800", max_size=300))
def test_a_name_never_leaves_its_folder(name: str) -> None:
    cleaned_name = clean_name(name)
    assert cleaned_name not in ("", ".", "..")
    assert Path(cleaned_name).name == cleaned_name
    assert not cleaned_name.startswith(".")
    assert len(cleaned_name) <= LONGEST_NAME
    assert len(cleaned_name.encode()) <= MAX_NAME_BYTES


@pytest.mark.parametrize(
    ("name", "expected_name"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\plan.md", "plan.md"),
        (".bashrc", "bashrc"),
        ("..", "document"),
        ("a\x00b\nc.txt", "abc.txt"),
        ("x" * 300 + ".txt", "x" * (LONGEST_NAME - 12) + ".txt"),  # 12: room for a dot and an ending of 11 characters
        ("Überblick 2024.md", "Überblick 2024.md"),
        # The part before the dot may have 108 of the 120 characters, and so 162 of the 180 bytes: 54 times 3 bytes.
        ("漢" * 100 + ".txt", "漢" * 54 + ".txt"),
    ],
)
def test_file_names_are_cleaned_before_storing(name: str, expected_name: str) -> None:
    assert clean_name(name) == expected_name


def test_files_of_one_name_do_not_overwrite_each_other() -> None:
    assert make_unique_names(["a/read.md", "b/read.md", "READ.md", "x.jsonl.gz", "y/x.jsonl.gz"]) == [
        "read.md",
        "read (2).md",
        "READ (3).md",
        "x.jsonl.gz",
        "x (2).jsonl.gz",
    ]
    assert make_unique_names(["a.md", "a (2).md", "a.md", "A.md"]) == ["a.md", "a (2).md", "a (3).md", "A (4).md"]
    assert len(set(make_unique_names(["read.md"] * 3000))) == 3000


@pytest.mark.parametrize("name", ["sample", "../up", "x", "", "a b"])
def test_reserved_and_invalid_collection_names_are_refused(name: str) -> None:
    with pytest.raises(SetupError):
        check_upload_collection(name)


def make_save(text: bytes) -> SaveUpload:
    """A function that writes the text as the uploaded file."""

    async def save(path: Path) -> None:
        path.write_bytes(text)

    return save


async def test_each_file_is_listed_with_its_outcome() -> None:
    server_context = Context(store="here")
    lines = b'{"id": "1", "title": "A", "text": "A line about Lima."}\nnot json\n'
    job = IndexingJob(check_upload_collection("my-own"))
    uploads = [
        ("../lima.md", make_save(b"# Lima\nLima is the capital of Peru.\n")),
        ("lines.jsonl", make_save(lines)),
        ("empty.txt", make_save(b"")),
        ("broken.pdf", make_save(b"%PDF-1.4 nothing")),
        # An indexing report calls a skipped line "FILE, line 2"; the names of these two files look similar.
        ("part, line 3.txt", make_save(b"")),
        ("part, line 4", make_save(b"")),
    ]
    await index_uploads(job, uploads, server_context)
    assert job.is_over
    assert job.error is None
    assert job.outcomes["lima.md"] == "indexed"
    assert job.outcomes["lines.jsonl"] == "indexed, without line 2: not JSON"
    assert job.outcomes["empty.txt"] == "not read: empty"
    assert job.outcomes["broken.pdf"].startswith("not read: ")
    assert job.outcomes["part, line 3.txt"] == "not read: empty"
    assert job.outcomes["part, line 4"].startswith("not read: ")
    assert len(job.outcomes) == len(uploads)
    assert (job.passage_count, list_collections("here")) == (2, ["my-own"])
    assert (job.files_and_lines_done, job.file_and_line_count) == (7, 7)  # the two lines of lines.jsonl, five files
    assert not [path for path in Path("here/uploads").rglob("*") if path.is_file()]


async def test_a_file_of_the_same_name_replaces_the_earlier_one() -> None:
    server_context = Context(store="here")
    for text in (b"Lima is the capital of Peru.", b"Quito is the capital of Ecuador."):
        await index_uploads(IndexingJob("my-own"), [("capital.txt", make_save(text))], server_context)
    assert [passage["text"] for passage in open_store("here").fetch_passages("my-own")[1]] == [
        "Quito is the capital of Ecuador."
    ]


async def test_an_error_that_stops_the_upload_is_reported_in_one_sentence_without_the_path(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("our store").write_text("a file in the folder's place")
    job = IndexingJob("my-own")
    await index_uploads(job, [("a.txt", make_save(b"text"))], Context(store="our store"))
    assert job.is_over
    assert job.error is not None
    assert "\n" not in job.error
    assert job.error.startswith("The documents cannot be kept in '[a path on the server]' (")
    assert str(Path("our store").resolve()) in capsys.readouterr().err


async def test_a_bug_is_one_sentence_on_the_page_and_a_traceback_on_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def save(path: Path) -> None:
        raise ZeroDivisionError

    job = IndexingJob("my-own")
    await index_uploads(job, [("a.txt", save)], Context(store="here"))
    assert job.is_over
    assert (job.error or "").startswith("Something in Quorum failed (ZeroDivisionError)")
    assert "Traceback" in capsys.readouterr().err
