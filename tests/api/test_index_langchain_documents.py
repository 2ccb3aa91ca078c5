"""`quorum.index(documents=...)`: LangChain's documents keep their ids, metadata and places, and are indexed again like
files.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from wordvectors import WordVectors

import quorum
from quorum import Context, IndexReport, SetupError
from quorum.core.state import Passage
from quorum.documents.places import describe_place
from quorum.retrievers.ledger import PASSAGES_PER_BATCH
from quorum.retrievers.store import open_store

QUAY = "The quay of Brae was laid by Ivo Tarn."
MILL = "The mill of Orrin was built by Greta Hale."
CONTEXT = Context(collection="papers", retriever="bm25", k=2)


def put(*documents: Document, **options: Any) -> IndexReport:
    return quorum.index(documents=list(documents), context=CONTEXT, **options)


def list_stored() -> dict[str, Passage]:
    return {passage["id"]: passage for passage in open_store(CONTEXT.store).fetch_passages("papers")[1]}


def make(text: str, source: str | None = "a.md", id_: str | None = None, **metadata: Any) -> Document:
    return Document(text, id=id_, metadata=metadata if source is None else {"source": source, **metadata})


def test_documents_are_answered_with_their_title_and_place() -> None:
    report = put(make(QUAY, "papers/quays.pdf", page=2, total_pages=9), make(MILL, "mills.txt", title="Mills"))
    assert (report.added, report.passages, report.skipped) == (2, 2, [])
    result = quorum.answer_sync("Who laid the quay of Brae?", context=CONTEXT)
    assert result["answer"] == "Ivo Tarn"
    [passage] = [passage for passage in result["passages"] if passage["text"] == QUAY]
    assert passage["title"] == "quays"
    [place] = passage["places"]
    assert (place["file"], place["page"], place["metadata"]["total_pages"]) == ("papers/quays.pdf", 3, 9)
    assert {passage["title"] for passage in list_stored().values()} == {"quays", "Mills"}


def test_metadata_are_kept_flat_and_typed() -> None:
    own = {"year": 1874, "made": date(2026, 5, 1), "tags": ["hr", "law"], "deep": {"share": 0.5}, "none": None}
    put(make(QUAY, "papers/quays.pdf", page=2, total_pages=9, **own))
    [document] = quorum.as_retriever("concat", CONTEXT).invoke("Who laid the quay of Brae?")
    kept = {"year": 1874, "made": "2026-05-01", "tags": ["hr", "law"], "deep.share": 0.5, "total_pages": 9}
    known = {"source": "papers/quays.pdf", "file_type": "pdf", "page": 3, "meta_page": 2, "title": "quays"}
    assert document.metadata.items() >= (kept | known).items()
    with open_store(CONTEXT.store).open_client() as client:
        rows = client.get_collection("papers", embedding_function=None).get(where={"year": {"$lt": 1900}})
    assert rows["ids"] == [document.id]
    assert put(make(QUAY, "papers/quays.pdf", page=2, total_pages=9, **own | {"year": 1875})).replaced == 1


def test_a_long_document_is_split_unless_it_is_split_already() -> None:
    long_text = " ".join([QUAY, MILL] * 10)
    put(make(long_text, id_="7"), words=20)
    stored = list_stored()
    assert list(stored) == [f"7#{number}" for number in range(1, len(stored) + 1)]
    assert len(stored) > 5
    put(make(long_text, id_="7"), words=20, split=False)
    assert {id_: passage["text"] for id_, passage in list_stored().items()} == {"7": long_text}


def test_a_short_document_keeps_its_line_ends() -> None:
    text = "def lay(quay):\n    return quay\n"
    put(make(text, "quays.py"))
    assert [passage["text"] for passage in list_stored().values()] == [text]


def test_markdown_is_split_at_its_headings() -> None:
    put(make(f"# Brae\n\n{QUAY}\n\n## Mills\n\n{MILL}\n", "brae.md"), words=12)
    titles_and_headings = {(p["title"], *p["places"][0].get("headings", [])): p["text"] for p in list_stored().values()}
    assert titles_and_headings == {("Brae",): QUAY, ("Brae", "Mills"): f"Mills\n{MILL}"}


def test_headings_that_a_splitter_found_stand_above_the_text() -> None:
    headers = {"Header 1": "Leave", "Header 2": "Parental"}
    put(make(QUAY, **headers), make(MILL, None, **headers), split=False)
    by_text = {passage["text"]: passage for passage in list_stored().values()}
    assert by_text[QUAY]["places"][0]["headings"] == ["Leave", "Parental"]
    assert by_text[MILL]["places"][0]["headings"] == ["Leave", "Parental"]


def test_offsets_of_a_splitter_stay() -> None:
    put(make(MILL, start_index=100), split=False)
    [passage] = list_stored().values()
    [place] = passage["places"]
    assert (place["start"], place["end"]) == (100, 100 + len(MILL))


def test_a_source_that_is_given_again_is_replaced() -> None:
    assert put(make(QUAY, "a.md"), make(MILL, "b.md")).added == 2
    again = put(make(QUAY, "a.md"), make(MILL, "b.md"))
    assert (again.unchanged, again.added, again.replaced) == (2, 0, 0)
    changed = put(make("The quay of Brae was laid by Uma Reis.", "a.md"))
    assert (changed.replaced, changed.unchanged, changed.passages) == (1, 0, 2)
    assert QUAY not in [passage["text"] for passage in list_stored().values()]


def test_documents_of_a_source_may_come_between_others() -> None:
    mixed = [make("One quay.", "a.md"), make("One mill.", "b.md"), make("Two quays.", "a.md")]
    report = put(*mixed)
    assert (report.added, report.passages) == (2, 3)
    assert put(*mixed).unchanged == 2
    assert put(*mixed[:2]).passages == 2


def test_a_document_without_source_counts_by_itself() -> None:
    assert put(make(QUAY, None, "1"), make(MILL, None)).added == 2
    report = put(make("The quay of Brae was laid by Uma Reis.", None, "1"))
    assert (report.replaced, report.passages) == (1, 2)
    assert describe_place(list_stored()["1"]) == "document 1"


def test_pruning_keeps_files(tmp_path: Path) -> None:
    (file := tmp_path / "kitchen.txt").write_text("The coffee machine is cleaned on Fridays.", encoding="utf-8")
    quorum.index(file, context=CONTEXT)
    put(make(QUAY, "a.md"), make(MILL, None), make("Ida Brenn bakes.", "c.md"))
    report = put(make("Ida Brenn bakes.", "c.md"), prune=True)
    assert (report.unchanged, report.removed, report.passages) == (1, 2, 2)
    assert {passage["text"][:10] for passage in list_stored().values()} == {"The coffee", "Ida Brenn "}
    quorum.index(file, context=CONTEXT, prune=True)
    assert len(list_stored()) == 2


def test_duplicates_are_stored_once() -> None:
    text = " ".join([QUAY, MILL] * 3)
    report = put(make(text, "a.md"), make(text, "b.md"), make(text, "b.md"))
    assert (report.added, report.passages, report.copies) == (2, 1, 1)
    [passage] = list_stored().values()
    assert [place["file"] for place in passage["places"]] == ["a.md", "b.md"]


def test_documents_with_ids_of_their_own_are_no_copies_of_one_another() -> None:
    long_text = " ".join([QUAY, MILL] * 5)
    assert put(make(long_text, "a.md", "1"), make(long_text, "b.md", "2")).passages == 2


def test_two_texts_with_one_id_are_named() -> None:
    report = put(make(QUAY, id_="1"), make(MILL, id_="1"), make("Ida Brenn bakes.", "b.md", "1"))
    assert report.skipped == [
        ("a.md", "two texts in this document have the id '1'; only the first is stored"),
        ("b.md", "the id '1' already belongs to a text of a.md; that text stays"),
    ]


def test_empty_documents_are_named_and_their_source_stays() -> None:
    put(make(QUAY, "a.md"), make(MILL, "b.md"))
    report = put(make(" \n", "a.md", page=4), make(" ", "b.md"), make("Ida Brenn bakes.", "b.md"), make("", None, "7"))
    assert report.skipped == [("a.md, page 4", "empty text"), ("b.md", "empty text"), ("document 7", "empty text")]
    assert {passage["text"] for passage in list_stored().values()} == {QUAY, "Ida Brenn bakes."}


def test_documents_of_a_generator_are_stored_while_it_goes_on() -> None:
    stored_counts = []

    def load() -> Iterator[Document]:
        for number in range(4 * PASSAGES_PER_BATCH):
            if number == 3 * PASSAGES_PER_BATCH:
                stored_counts.append(open_store(CONTEXT.store).count_passages("papers"))
            yield make(f"Otter {number}.", f"{number // 10}.md")

    steps: list[tuple[int, int]] = []
    context = replace(CONTEXT, embeddings=WordVectors())
    report = quorum.index(
        documents=load(), context=context, progress=lambda done, total, name: steps.append((done, total))
    )
    assert report.passages == 4 * PASSAGES_PER_BATCH
    assert stored_counts[0] >= PASSAGES_PER_BATCH
    assert steps[-1] == (4 * PASSAGES_PER_BATCH, 4 * PASSAGES_PER_BATCH)


async def test_asynchronous_generators_are_read_on_the_loop() -> None:
    async def load() -> AsyncIterator[Document]:
        yield make(QUAY, "a.md")
        yield make(MILL, "b.md")

    assert (await quorum.aindex(documents=load(), context=CONTEXT)).added == 2
    assert (await quorum.aindex(documents=[make(MILL, "b.md")], context=CONTEXT)).unchanged == 1
    with pytest.raises(SetupError, match=r"use `await quorum\.aindex"):
        quorum.index(documents=load(), context=CONTEXT)


async def test_a_cancelled_call_stops_and_the_next_one_completes_it() -> None:
    silent, reached = asyncio.Event(), asyncio.Event()

    async def load() -> AsyncIterator[Document]:
        yield make(QUAY, "a.md")
        reached.set()
        await silent.wait()
        yield make(MILL, "b.md")

    task = asyncio.create_task(quorum.aindex(documents=load(), context=CONTEXT))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    silent.set()
    report = await quorum.aindex(documents=[make(QUAY, "a.md"), make(MILL, "b.md")], context=CONTEXT)
    assert report.passages == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"documents": [{"page_content": QUAY}]}, r"documents\[0\] is a dict .* not a LangChain Document"),
        ({"documents": QUAY}, r"documents\[0\] is a str \('T'\)"),
        ({}, "Neither paths nor documents are given"),
        ({"documents": [], "paths": "a.md"}, "Both paths and documents are given"),
        ({"documents": [make(QUAY)], "collection": "sample"}, "reserved for the sample documents"),
        ({"documents": [make(QUAY)], "words": 1}, "words=1 is too few"),
    ],
)
def test_bad_input_is_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SetupError, match=sentence):
        quorum.index(**{"context": CONTEXT, **arguments})
