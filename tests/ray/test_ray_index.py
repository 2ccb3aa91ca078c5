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
    pytest.mark.filterwarnings("ignore"),
]  # Ray itself causes warnings


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Documents, lines of passages, an id with two texts, a text in two files, and files that cannot be read."""
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


def index(docs: Path, store: Path, engine: str) -> IndexReport:
    return index_documents([docs], collection="docs", store=store, engine=engine)


def sort_report(report: IndexReport) -> Any:
    """The counts of a report, and the skipped files in order."""
    return vars(report) | {"skipped": sorted(report.skipped)}


def read_contents(store: Path) -> Any:
    """Everything in the collection, the vectors too."""
    collections: Store = open_store(store)
    with collections.open_client():
        result: Any = collections.fetch_collection("docs").get(include=["documents", "metadatas", "embeddings"])
    parts = zip(result["ids"], result["documents"], result["metadatas"], result["embeddings"].tolist(), strict=True)
    return sorted(parts, key=lambda part: str(part[0]))


def test_the_collection_is_that_of_one_process(docs: Path, tmp_path: Path) -> None:
    in_many_processes, in_one_process = (index(docs, tmp_path / engine, engine) for engine in ("ray", "local"))
    assert sort_report(in_many_processes) == sort_report(in_one_process)
    assert read_contents(tmp_path / "ray") == read_contents(tmp_path / "local")
    assert any("no JSON" not in reason and "line 71" in place for place, reason in in_many_processes.skipped)
    (docs / "2.md").write_text("# Text 2\n\nNow it is short.")
    (docs / "3.md").unlink()
    new_reports = [
        index_documents([docs], collection="docs", store=tmp_path / e, engine=e, prune=True) for e in ("ray", "local")
    ]
    assert sort_report(new_reports[0]) == sort_report(new_reports[1])
    assert (new_reports[0].replaced, new_reports[0].removed) == (1, 1)
    assert read_contents(tmp_path / "ray") == read_contents(tmp_path / "local")
