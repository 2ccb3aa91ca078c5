"""A filter hides documents: no search, whole document or list shows their names, metadata or words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from wordvectors import WordVectors

from quorum.core.context import Context
from quorum.core.where import NothingMatchesError, make_right
from quorum.retrievers import search
from quorum.retrievers.collections import list_passages
from quorum.retrievers.documents import load_documents
from quorum.retrievers.index import index_documents
from quorum.retrievers.manage_collections import count_passages_by_document
from quorum.retrievers.manage_documents import list_documents
from quorum.serving.documents.documents import MOST_LISTS, DocumentLists

VECTORS: Any = WordVectors(64)
SHARED = " ".join(f"Desk {number} books the train tickets of all the staff." for number in range(9))
LONG = "Every journey of the staff by train or by bus is booked by the travel desk, which Anna leads in Orrin, at noon"
HIDDEN_NAMES = ("layoffs", "Board", "salary", "Walrus")


def index_teams(tmp_path: Path, hr: str, board: str, opened: str = "rules") -> Context:
    """A collection of an open document of the team HR and a hidden one of the Board."""
    for name, text in ((opened, hr), ("layoffs", board)):
        (tmp_path / f"{name}.md").write_text(f"# Travel\n\n## Booking\n\n{text}\n")
    store = str(tmp_path / "store")
    for name, metadata in (("layoffs", {"team": "Board", "salary": 5}), (opened, {"team": "HR"})):
        index_documents(
            [tmp_path / f"{name}.md"], collection="teams", store=store, embeddings=VECTORS, metadata=metadata
        )
    return Context(store=store, collection="teams", embeddings=VECTORS, retriever="bm25", where="team=HR")


@pytest.mark.parametrize("opened", ["rules", "agenda"])  # the hidden document comes first, or last
async def test_a_passage_of_an_open_and_a_hidden_document_tells_only_the_open_one(tmp_path: Path, opened: str) -> None:
    context = index_teams(tmp_path, SHARED, SHARED, opened)
    assert len((await search("tickets", replace(context, where=None)))[0]["places"]) == 2
    documents = await load_documents(context)
    shown = [await search("Who books train tickets?", context), list_passages(context), documents.passages]
    shown += list(documents.by_name.values())
    for passages in shown:
        [passage] = passages
        assert [Path(place["file"]).name for place in passage["places"]] == [f"{opened}.md"]
        assert passage["metadata"]["team"] == "HR"
    assert not [name for name in HIDDEN_NAMES if name in str((shown, documents))]


async def test_the_words_of_a_hidden_document_are_not_shown_for_those_of_a_near_copy(tmp_path: Path) -> None:
    context = index_teams(tmp_path, f"{LONG}.", f"{LONG} (Walrus).")
    with pytest.raises(NothingMatchesError):
        await search("Who leads the travel desk?", context)
    assert list_passages(context) == []
    assert (await load_documents(context)).by_name == {}
    assert list_documents("teams", context.store, "team=HR") == []
    assert count_passages_by_document("teams", context.store, "team=HR") == {}
    assert [len(p["places"]) for p in await search("travel", replace(context, where="team=Board"))] == [1]


def test_the_lists_of_documents_that_are_asked_for_again_are_kept(tmp_path: Path) -> None:
    context = index_teams(tmp_path, SHARED, f"{LONG}.")
    lists = DocumentLists(context)
    often = lists.list("teams", "team=HR")
    for number in range(2 * MOST_LISTS):
        assert [document.passages for document in lists.list("teams", f"salary>={-number}")] == [1]
        assert lists.list("teams", "team=HR") is often
    assert len(lists.lists) == MOST_LISTS


async def test_an_agent_reads_no_passage_by_its_id_that_does_not_pass(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="the extra [mcp] is not installed")
    from quorum.serving.mcp_server import fetch_passages

    context = index_teams(tmp_path, f"{LONG}.", f"{LONG} (Walrus).")
    [hidden] = await search("travel", replace(context, where="team=Board"))
    for where, count in (("team=HR", 0), (make_right("rank=1"), 0), (make_right("team=Board"), 1)):
        assert len(fetch_passages(replace(context, where=where), "teams", [hidden["id"]])) == count
