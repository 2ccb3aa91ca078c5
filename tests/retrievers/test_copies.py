"""Copies of a passage are stored as one passage with several places, and separated again when a file changes."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from index_fixtures import VECTORS, docs

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.datasets.records import hash_content
from quorum.documents.places import describe_place
from quorum.retrievers import collections
from quorum.retrievers.chroma_rows import Changes
from quorum.retrievers.index import index_documents
from quorum.retrievers.index_report import IndexReport
from quorum.retrievers.metadata import PassageEntry
from quorum.retrievers.store import open_store

__all__ = ["docs"]  # a fixture, used by name

# Texts that differ only in small and capital letters, such as "Rule number" and "RULE NUMBER", are copies.
TEXT = " ".join(f"Rule number {n} says that the gate of the lock number {n} is closed at night." for n in range(24))


@pytest.fixture
def index(docs: Path, tmp_path: Path) -> Callable[[], IndexReport]:
    """A function that indexes the folder `docs` and removes the passages of files that are no longer there."""
    return lambda: index_documents([docs], collection="docs", store=tmp_path / "store", embeddings=VECTORS, prune=True)


@pytest.fixture
def list_collection(tmp_path: Path) -> Callable[[], list[Passage]]:
    """A function that lists the passages of the collection `docs`."""
    context = Context(store=str(tmp_path / "store"), collection="docs", embeddings=VECTORS)
    return lambda: collections.list_passages(context)


def list_files(passage: Passage) -> list[str]:
    """The names of the files that contain a passage."""
    return [Path(place["file"]).name for place in passage["places"]]


def test_a_copy_under_another_name_takes_no_passages(
    docs: Path, index: Callable[[], IndexReport], list_collection: Callable[[], list[Passage]]
) -> None:
    (docs / "a.txt").write_text(TEXT)
    passage_count = index().passages
    (docs / "copy of a.txt").write_text(TEXT.replace("Rule number", "RULE NUMBER"))
    VECTORS.embedded_count = 0
    report = index()
    assert (report.added, report.unchanged, report.passages, report.copies) == (1, 1, passage_count, passage_count)
    assert VECTORS.embedded_count == 0
    assert all(list_files(passage) == ["a.txt", "copy of a.txt"] for passage in list_collection())
    assert describe_place(list_collection()[0]) == "a.txt (also in copy of a.txt)"
    report = index()
    assert (report.unchanged, report.passages, report.copies) == (2, passage_count, passage_count)


def test_a_copy_of_a_deleted_document_gets_its_own_passages(
    docs: Path, index: Callable[[], IndexReport], list_collection: Callable[[], list[Passage]]
) -> None:
    (docs / "a.txt").write_text(TEXT)
    (docs / "b.txt").write_text(TEXT.replace("Rule number", "RULE NUMBER"))
    index()
    (docs / "a.txt").unlink()
    # This run reads the copy before it removes the original, so only the next run gives the copy its own passages.
    index()
    report = index()
    assert report.copies == 0
    assert all(list_files(passage) == ["b.txt"] and "RULE NUMBER" in passage["text"] for passage in list_collection())


def test_an_edited_original_replaces_its_passages(
    docs: Path, index: Callable[[], IndexReport], list_collection: Callable[[], list[Passage]]
) -> None:
    (docs / "a.txt").write_text(TEXT)
    (docs / "b.txt").write_text(TEXT)
    index()
    (docs / "a.txt").write_text(TEXT.replace("number 5 is closed", "number 5 is open"))
    index()
    texts = {
        name: " ".join(passage["text"] for passage in list_collection() if name in list_files(passage))
        for name in ("a.txt", "b.txt")
    }
    assert ("number 5 is open" in texts["a.txt"], "number 5 is closed" in texts["a.txt"]) == (True, False)
    assert ("number 5 is open" in texts["b.txt"], "number 5 is closed" in texts["b.txt"]) == (False, True)


def test_filled_in_forms_that_differ_in_a_number_are_all_kept(
    docs: Path, index: Callable[[], IndexReport], list_collection: Callable[[], list[Passage]]
) -> None:
    template = (
        "The pump in hall {} is serviced by two people who have passed the course, and by nobody else at any time."
    )
    for number in range(12):
        (docs / f"hall{number}.txt").write_text(template.format(number))
    report = index()
    assert (report.passages, report.copies) == (12, 0)


def test_lines_of_a_jsonl_file_keep_their_ids_even_if_their_texts_are_equal(
    docs: Path, index: Callable[[], IndexReport], list_collection: Callable[[], list[Passage]]
) -> None:
    text = TEXT[:300]
    (docs / "a.jsonl").write_text(f'{{"id": "1", "text": "{text}"}}\n{{"id": "2", "text": "{text}"}}\n')
    assert (index().copies, [passage["id"] for passage in list_collection()]) == (0, ["1", "2"])


def test_a_touched_file_counts_as_unchanged_and_its_new_time_is_stored(
    docs: Path, index: Callable[[], IndexReport], list_collection: Callable[[], list[Passage]]
) -> None:
    (docs / "a.txt").write_text("One.")
    index()
    os.utime(docs / "a.txt", (1_000_000_000, 1_000_000_000))
    assert index().unchanged == 1
    assert list_collection()[0]["places"][0]["modified"] == "2001-09-09T01:46:40+00:00"


def test_a_collection_of_an_older_version_can_be_read_and_is_brought_up_to_date(
    docs: Path, index: Callable[[], IndexReport], list_collection: Callable[[], list[Passage]], tmp_path: Path
) -> None:
    """Older versions stored the path of a passage's file, but not the headings above the passage."""
    (docs / "a.txt").write_text("One.")
    (docs / "b.md").write_text("# B\n\n## Part\n\nTwo.")
    store = open_store(tmp_path / "store")
    old_passages = [("a", "One.", "a.txt"), ("B", "## Part\nTwo.", "b.md")]
    index()
    info = replace(store.fetch_info("docs"), format=None, files=None, changed=None)
    store.delete("docs")
    store.create("docs", info)
    changes = Changes()
    for title, text, file_name in old_passages:
        hash_ = hash_content(title, text)
        entry = PassageEntry(title, hash_, {str(docs / file_name): 0})  # passage 0 of its file
        changes.passages.append((Passage(id=hash_, title=title, text=text), entry, VECTORS.embed_documents([text])[0]))
    store.write("docs", info, changes)
    assert [describe_place(passage) for passage in list_collection()] == ["a.txt", "b.md"]
    report = index()
    assert report.notes == [
        ("docs", "made by an older version; the passages of files that are read better now are replaced")
    ]
    assert (report.unchanged, report.replaced) == (1, 1)
    assert [describe_place(passage) for passage in list_collection()] == ["a.txt", "b.md, Part"]
    assert index().notes == []
