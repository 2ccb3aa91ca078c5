"""Indexing files again: changed, renamed and deleted documents, removed collections."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from index_fixtures import VECTORS, Counts, IndexFunction, docs, get_counts, index, list_collection, make_sentence

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.retrievers import collections, manage_collections, search
from quorum.retrievers.forget_collection import run_vacuum
from quorum.retrievers.index import index_documents
from quorum.retrievers.index_cache import make_index_folder
from quorum.retrievers.store import open_store

__all__ = ["docs", "index", "list_collection"]  # fixtures, used by name


def list_texts(passages: list[Passage]) -> list[tuple[str, str, str]]:
    """The id, title and text of each passage, without its files and times."""
    return [(passage["id"], passage["title"], passage["text"]) for passage in passages]


def test_indexing_again_adds_nothing_twice(
    docs: Path, index: IndexFunction, list_collection: Callable[[], list[Passage]]
) -> None:
    for name in "abc":
        (docs / f"{name}.txt").write_text(" ".join(f"{name} {make_sentence(i)}" for i in range(30)))
    assert get_counts(index()) == Counts(added=3, passages=12)
    before, revision = list_collection(), open_store(docs.parent / "store").fetch_info("docs").revision
    VECTORS.embedded_count = 0
    assert get_counts(index()) == Counts(unchanged=3, passages=12)
    assert get_counts(index(docs / "a.txt", docs, docs / "b.txt")) == Counts(unchanged=3, passages=12)
    assert VECTORS.embedded_count == 0
    assert list_collection() == before
    assert open_store(docs.parent / "store").fetch_info("docs").revision == revision


def test_a_changed_document_is_replaced(
    docs: Path, index: IndexFunction, list_collection: Callable[[], list[Passage]]
) -> None:
    (docs / "a.txt").write_text("\n\n".join(make_sentence(i) for i in range(30)))
    (docs / "b.txt").write_text("Another one.")
    index()
    before, revision = list_collection(), open_store(docs.parent / "store").fetch_info("docs").revision
    text = (docs / "a.txt").read_text()
    (docs / "a.txt").write_text(text.replace("number 29", "number 1000"))
    VECTORS.embedded_count = 0
    assert get_counts(index()) == Counts(replaced=1, unchanged=1, passages=5)
    assert VECTORS.embedded_count == 1  # only the changed passage; the document's other passages are kept
    after = list_collection()
    assert "number 1000" in after[3]["text"]
    assert list_texts(after[:3] + after[4:]) == list_texts(before[:3] + before[4:])
    assert open_store(docs.parent / "store").fetch_info("docs").revision != revision
    (docs / "a.txt").write_bytes(b"\xff\xfe\0")
    report = index()
    assert (report.unchanged, len(report.skipped)) == (1, 1)
    assert list_texts(list_collection()) == list_texts(after)  # the passages of the last successful read stay


def test_prune_removes_deleted_documents(
    docs: Path, index: IndexFunction, list_collection: Callable[[], list[Passage]], tmp_path: Path
) -> None:
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    (other_folder / "c.txt").write_text("Text c.")
    for name in "ab":
        (docs / f"{name}.txt").write_text(f"Text {name}.")
    index(docs, other_folder)
    (docs / "a.txt").unlink()
    report = index()
    assert get_counts(report) == Counts(unchanged=1, passages=3)
    ((gone, remark),) = report.notes
    assert (gone, "--prune" in remark) == (str(docs / "a.txt"), True)
    assert get_counts(index(prune=True)) == Counts(unchanged=1, removed=1, passages=2)  # c.txt is not in docs
    assert [passage["title"] for passage in list_collection()] == ["b", "c"]
    (docs / "b.txt").write_bytes(b"\0")
    assert get_counts(index(prune=True)) == Counts(passages=2)  # b.txt is there, but cannot be read
    (other_folder / "c.txt").unlink()
    other_folder.rmdir()
    with pytest.raises(SetupError, match=f"no file or folder {other_folder}"):
        index(other_folder)
    # With prune, a deleted folder may be named as long as the collection has documents of it.
    assert get_counts(index(other_folder, prune=True)) == Counts(removed=1, passages=1)
    with pytest.raises(SetupError, match="no file or folder"):
        index(other_folder, prune=True)


def test_a_renamed_document_is_not_embedded_again(docs: Path, index: IndexFunction) -> None:
    (docs / "a.md").write_text("# Title\n\nThe text.")
    index()
    (docs / "a.md").rename(docs / "z.md")
    VECTORS.embedded_count = 0
    assert get_counts(index(prune=True)) == Counts(added=1, removed=1, passages=1)
    assert VECTORS.embedded_count == 0


def test_a_passage_of_two_documents_is_kept_until_both_are_gone(
    docs: Path, index: IndexFunction, list_collection: Callable[[], list[Passage]], tmp_path: Path
) -> None:
    for name in "ab":
        (docs / f"{name}.md").write_text("# Same\n\nThe same text.")
    assert get_counts(index()) == Counts(added=2, passages=1)
    entries = open_store(tmp_path / "store").fetch_entries("docs")
    assert [sorted(entry.position_by_document) for entry in entries.values()] == [
        [str(docs / "a.md"), str(docs / "b.md")]
    ]
    (docs / "a.md").unlink()
    assert get_counts(index(prune=True)) == Counts(unchanged=1, removed=1, passages=1)
    (docs / "b.md").write_text("# Same\n\nAnother text.")
    assert get_counts(index()) == Counts(replaced=1, passages=1)
    assert [passage["text"] for passage in list_collection()] == ["Another text."]


def test_a_mistaken_path_does_not_stop_the_others(docs: Path, index: IndexFunction) -> None:
    (docs / "a.txt").write_text("One.")
    os.mkfifo(docs.parent / "pipe")
    report = index(docs / "none.txt", docs.parent / "pipe", docs / "a.txt")
    assert get_counts(report) == Counts(added=1, passages=1)
    assert [Path(path).name for path, _ in report.skipped] == ["none.txt", "pipe"]
    (docs / "a.txt").unlink()
    with pytest.raises(SetupError, match="--prune removes its passages"):
        index(docs / "a.txt")


def find_text(folder: Path, text: str) -> list[Path]:
    """The files below a folder that hold a text, in any case."""
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes().lower()]


def search_words(collection: str, store: Path) -> list[Passage]:
    """What BM25 finds for "weir dam"."""
    context = Context(store=str(store), collection=collection, retriever="bm25")
    return asyncio.run(search("weir dam", context))


def test_a_removed_collection_leaves_nothing_of_its_text(docs: Path, tmp_path: Path) -> None:
    (docs / "a.md").write_text("# Weir\n\nThe zyxnonce weir was built by Zyxnonce and Sons.")
    index_documents([docs], collection="old", store=tmp_path / "first")
    search_words("old", tmp_path / "first")
    store = tmp_path / "store"
    shutil.copytree(tmp_path / "first", store)  # with its indexes
    before = sorted(find_text(store / "bm25", "zyxnonce"))
    search_words("old", store)
    assert before == sorted(find_text(store / "bm25", "zyxnonce")) != []  # the copied index serves
    manage_collections.rename_collection("old", "weirs", store)
    assert find_text(store / "bm25", "zyxnonce") == []
    search_words("weirs", store)
    (docs / "a.md").write_text("# Dam\n\nThe oxbow dam.")
    index_documents([docs], collection="dams", store=store)
    colbert_folder = make_index_folder(open_store(store), "colbert", "weirs", "an encoder")
    (colbert_folder / "passages.jsonl").write_text("zyxnonce")
    assert len(find_text(store, "zyxnonce")) > 2
    assert collections.delete_collection("weirs", store) == ""
    assert find_text(store, "zyxnonce") == []
    with closing(sqlite3.connect(store / "embeddings.sqlite3")) as database:
        assert database.execute("SELECT COUNT(*) FROM vectors").fetchone() == (1,)
    assert [passage["title"] for passage in search_words("dams", store)] == ["Dam"]
    assert collections.list_collections(store) == ["dams"]
    with pytest.raises(SetupError, match="no collection 'weirs'"):
        collections.delete_collection("weirs", store)
    again = index_documents([docs], collection="weirs", store=store)
    assert get_counts(again) == Counts(added=1, passages=1)


def test_a_vacuum_that_fails_is_one_sentence_and_the_collection_is_removed(docs: Path, tmp_path: Path) -> None:
    assert run_vacuum(tmp_path / "none") == "Failed to vacuum Chroma"
    with open_store(tmp_path / "other").open_client() as client:
        client.create_collection("theirs", embedding_function=None)
    other = tmp_path / "other" / "chroma"
    leftovers = collections.delete_collection("theirs", other, foreign=True)
    assert f"`chroma vacuum --path {other}` removes them." in leftovers
    assert collections.list_collections(other) == []
