"""Many processes that read and embed documents make the same collection as one process."""

import json
from pathlib import Path
from typing import Any

import pytest

from quorum.retrievers.index import index_documents
from quorum.retrievers.index_report import IndexReport
from quorum.retrievers.store import Store, open_store

pytestmark = [
    pytest.mark.usefixtures("ray_address"),
    pytest.mark.filterwarnings("ignore"),  # Ray itself causes warnings
]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder with Markdown documents and a JSON-lines file of passages. Two documents have the same text, and another
    one is empty. In the JSON-lines file, each of five passage ids stands in two lines, with a different text in each;
    one passage is so long that it is split; and the last line is not JSON.
    """
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(4):
        text = " ".join(f"Sentence {i} of text {number} is about rivers and ends here." for i in range(36))
        (folder / f"{number}.md").write_text(f"# Text {number}\n\n{text}")
    (folder / "copy.md").write_text((folder / "1.md").read_text())
    (folder / "empty.md").write_text("")
    lines = [{"id": f"p{n % 65}", "title": f"Title {n}", "text": f"Passage {n} about lakes."} for n in range(70)]
    lines[7]["text"] = " ".join(f"Far too long is sentence {i} of this one." for i in range(90))
    (folder / "lines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "no JSON\n")
    return folder


def index_folder(docs: Path, store: Path, engine: str) -> IndexReport:
    return index_documents([docs], collection="docs", store=store, engine=engine, add_context="outline")


def sort_report(report: IndexReport) -> Any:
    """The report as a dict, with the skipped files in sorted order, because processes end in any order."""
    return vars(report) | {"skipped": sorted(report.skipped)}


def read_contents(store: Path) -> Any:
    """All passages of the collection with their metadata and vectors, sorted by id."""
    collections: Store = open_store(store)
    with collections.open_client():
        result: Any = collections.fetch_collection("docs").get(include=["documents", "metadatas", "embeddings"])
    parts = zip(result["ids"], result["documents"], result["metadatas"], result["embeddings"].tolist(), strict=True)
    return sorted(parts, key=lambda part: str(part[0]))


def test_many_processes_make_the_same_collection_as_one(docs: Path, tmp_path: Path) -> None:
    ray_report, local_report = (index_folder(docs, tmp_path / engine, engine) for engine in ("ray", "local"))
    assert sort_report(ray_report) == sort_report(local_report)
    assert read_contents(tmp_path / "ray") == read_contents(tmp_path / "local")
    # the last line of lines.jsonl; the reason does not quote the line
    assert any("no JSON" not in reason and "line 71" in place for place, reason in ray_report.skipped)
    (docs / "2.md").write_text("# Text 2\n\nNow it is short.")
    (docs / "3.md").unlink()
    new_reports = [
        index_documents([docs], collection="docs", store=tmp_path / engine, engine=engine, prune=True)
        for engine in ("ray", "local")
    ]
    assert sort_report(new_reports[0]) == sort_report(new_reports[1])
    assert (new_reports[0].replaced, new_reports[0].removed) == (1, 1)
    assert read_contents(tmp_path / "ray") == read_contents(tmp_path / "local")
