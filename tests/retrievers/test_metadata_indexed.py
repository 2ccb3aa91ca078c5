"""What files say of themselves, and what the user says when indexing, becomes flat metadata in Chroma."""

import json
import os
from pathlib import Path
from typing import Any

import chromadb
import pytest

import quorum
from quorum import Context
from quorum.retrievers.index import index_documents, index_passages
from quorum.retrievers.manage_collections import import_lines, write_export
from quorum.retrievers.store import open_store

LEAVE = """---
author: Ada Korn
year: 2020
since: 2019-07-01
draft: false
tags: [hr, leave]
source: wiki
---
# Leave

## Parental

Parents get twenty weeks of leave.
"""
LINES = [
    {"id": "a", "title": "Tickets", "text": "Mira Oduya books tickets.", "metadata": {"year": 2021, "team": {"no": 4}}},
    {"id": "b", "title": "Meals", "text": "Meals are paid up to 30 euros."},
]
INNER_KEYS = ("hash", "places", "headings", "where", "sketch")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "hr").mkdir(parents=True)
    (folder / "hr" / "leave.md").write_text(LEAVE)
    (folder / "rules.jsonl").write_text("\n".join(map(json.dumps, LINES)))
    for path in (folder / "hr" / "leave.md", folder / "rules.jsonl"):
        os.utime(path, (1_800_000_000, 1_800_000_000))
    return folder


def read_stored(collection: str, store: str = ".quorum") -> dict[str, Any]:
    """{last line of the text: metadata} as a client of Chroma sees them, without what only Quorum reads."""
    client: Any = chromadb.PersistentClient(Path(store, "chroma").resolve())
    rows = client.get_collection(collection, embedding_function=None).get()
    return {
        text.split("\n")[-1]: {key: value for key, value in metadata.items() if key not in INNER_KEYS}
        for text, metadata in zip(rows["documents"], rows["metadatas"], strict=True)
    }


def test_files_lines_and_options_give_typed_metadata(folder: Path) -> None:
    index_documents([folder], collection="rules", metadata={"team": "People", "title": "Rules", "since": "2018-01-01"})
    stored = read_stored("rules")
    added = {"modified": "2027-01-15T08:00:00+00:00", "team": "People", "meta_title": "Rules", "since": "2018-01-01"}
    leave = {"source": "hr/leave.md", "file_type": "md", "meta_source": "wiki", "title": "Leave", "author": "Ada Korn"}
    assert stored["Parents get twenty weeks of leave."] == {
        **leave,
        **added,
        "heading": "Parental",
        "year": 2020,
        "draft": False,
        "tags": ["hr", "leave"],
    }
    lines = {"source": "rules.jsonl", "file_type": "jsonl"}
    assert stored["Mira Oduya books tickets."] == {**lines, **added, "title": "Tickets", "year": 2021, "team.no": 4}
    assert stored["Meals are paid up to 30 euros."] == {**lines, **added, "title": "Meals"}
    kinds = json.loads(open_store(".quorum").fetch_info("rules").keys or "")
    assert (kinds["year"], kinds["tags"], kinds["draft"]) == (["number"], ["list of text"], ["true or false"])
    [passage] = quorum.answer_sync("Who books tickets?", "concat", Context(collection="rules", k=1))["passages"]
    assert passage["metadata"] == {**lines, **added, "year": 2021, "team.no": 4}


def test_indexing_again_changes_and_removes_keys_without_embedding_anew(folder: Path) -> None:
    index_documents([folder], collection="rules", metadata={"team": "People"})
    changed_leave = LEAVE.replace("draft: false\n", "").replace("tags: [hr, leave]\n", "tags: hr\n")
    (folder / "hr" / "leave.md").write_text(changed_leave)
    report = index_documents([folder / "hr"], collection="rules")
    assert (report.replaced, report.added) == (1, 0)
    metadata = read_stored("rules")["Parents get twenty weeks of leave."]
    assert metadata.keys().isdisjoint({"draft", "team"})
    assert (metadata["tags"], metadata["source"]) == ("hr", "leave.md")
    kinds = json.loads(open_store(".quorum").fetch_info("rules").keys or "")
    assert "draft" not in kinds
    assert kinds["tags"] == kinds["team"] == ["text"]


def test_a_line_with_another_text_loses_the_keys_of_the_former(tmp_path: Path) -> None:
    path = tmp_path / "rules.jsonl"
    for text, metadata in (("Old rule.", {"year": 2020, "old": True}), ("New rule.", {"year": "2021"})):
        path.write_text(json.dumps({"id": "a", "title": "", "text": text, "metadata": metadata}))
        index_documents([path], collection="rules")
    metadata = read_stored("rules")["New rule."]
    assert metadata["year"] == "2021"
    assert "old" not in metadata


def test_passages_without_a_file_and_copies_of_a_collection_keep_theirs(tmp_path: Path, folder: Path) -> None:
    passage: Any = {"id": "1", "title": "Mills", "text": "Greta Hale built it.", "metadata": {"page": 4, "title": "x"}}
    index_passages([passage], collection="mills")
    assert read_stored("mills") == {"Greta Hale built it.": {"title": "Mills", "page": 4, "meta_title": "x"}}
    [[stored]] = [open_store(".quorum").fetch_passages("mills")[1]]
    assert "places" not in stored
    index_documents([folder], collection="rules")
    write_export("rules", ".quorum", tmp_path / "rules-export.jsonl")
    import_lines(tmp_path / "rules-export.jsonl", "copy", ".quorum", "embedded")
    assert read_stored("copy") == read_stored("rules")
