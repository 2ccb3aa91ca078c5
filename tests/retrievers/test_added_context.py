"""`quorum index --context outline`: the first sentence of a section is searched with its passages, and never shown."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from index_fixtures import VECTORS, IndexFunction, docs, index
from langchain_core.documents import Document
from quorum_command import Quorum

import quorum as library
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.documents.document import Block
from quorum.documents.document import Document as ParsedDocument
from quorum.documents.pieces import split_document, split_passage
from quorum.documents.readers.markdown import read
from quorum.models.scripted import ScriptedModel
from quorum.retrievers import collections, search
from quorum.retrievers.added_context import check_added_context
from quorum.retrievers.bm25_cache import load_bm25_index
from quorum.retrievers.index_settings import IndexSettings, parse_index_settings
from quorum.retrievers.manage_collections import import_lines, write_export
from quorum.retrievers.store import open_store

__all__ = ["docs", "index"]  # fixtures, used by name

FIRST = "The ferry Osprey sails between Brae and Lund."
HOURS = "It leaves at seven in the morning. It comes back at nine in the evening."
FARES = "Grown people pay four crowns for it. Children of twelve and younger pay one."
FERRY = f"# Travel\n\n## Boats\n\n{FIRST} {HOURS} {FARES}\n\n## Trains\n\nTrains stop at Lund at noon.\n"
LONG = [f"w{number}" for number in range(70)]
SHARED = " ".join(f"Dock {number} of the town has a crane and a small yard for wood." for number in range(3))


def split(text: str, words: int = 16) -> list[tuple[str, str]]:
    """(text, context) of the passages of a Markdown text."""
    return [(piece.text, piece.context) for piece in split_document(read(text.encode(), "a.md"), words, outline=True)]


def read_rows(collection: str, store: Path) -> dict[str, list[float]]:
    """{text: vector} as Chroma holds them."""
    with open_store(store).open_client() as client:
        rows: Any = client.get_collection(collection).get(include=["documents", "embeddings"])
    vectors = ([float(number) for number in vector] for vector in rows["embeddings"])
    return dict(zip(rows["documents"], vectors, strict=True))


@pytest.fixture
def rows(tmp_path: Path) -> Callable[..., dict[str, list[float]]]:
    """A function that reads the texts and vectors of a collection."""
    return lambda collection="docs": read_rows(collection, tmp_path / "store")


def test_a_passage_further_down_has_the_first_sentence_of_its_section_and_no_other() -> None:
    passages = split(FERRY)
    assert [context for _, context in passages] == ["", FIRST, FIRST, ""]
    assert passages[0][0].endswith(FIRST)


@pytest.mark.parametrize(
    ("text", "contexts"),
    [
        ("# A\n\n" + "\n".join(f"- the item number {n} of a list" for n in range(4)), {""}),
        ("# A\n\n| a | b |\n|---|---|\n" + "\n".join(f"| one {n} | two three four |" for n in range(6)), {""}),
        ("# A\n\n```\n" + "\n".join(f"call number {n} with a value" for n in range(6)) + "\n```\n", {""}),
        ("Water is wet. " + "It runs down hill to the sea. " * 4, {"", "Water is wet."}),
        (f"{' '.join(LONG)}. " + "It runs to the sea. " * 20, {"", " ".join(LONG[:35])}),
    ],
    ids=["list", "table", "code", "without a heading", "long sentence"],
)
def test_only_a_sentence_is_a_context_and_its_beginning_if_it_is_long(text: str, contexts: set[str]) -> None:
    words = 100 if "w69" in text else 12
    assert {context for _, context in split(text, words)} == contexts


def test_a_section_that_a_few_words_above_have_joined_gives_its_own_first_sentence() -> None:
    blocks = [Block("A", "heading", 1), Block("B", "heading", 2), Block("None."), Block("C", "heading", 2)]
    text = "The crane lifts wood. " + "It stands at the dock of the town. " * 3
    pieces = list(split_document(ParsedDocument("T", [*blocks, Block(text)]), 12, outline=True))
    assert {piece.context for piece in pieces if piece.headings == ("A", "C")} == {"The crane lifts wood."}


def test_parts_of_a_long_line_have_the_first_sentence_of_the_whole() -> None:
    passage = library.Passage(id="a", title="T", text=f"{FIRST} {HOURS} {FARES}")
    contexts = [part.get("context") for part in split_passage(passage, 8, outline=True)]
    assert (contexts[0], set(contexts[1:])) == (None, {FIRST})
    assert not any("context" in part for part in split_passage(passage, 8))


def test_the_context_is_searched_but_in_nothing_that_a_search_gives(
    docs: Path, index: IndexFunction, tmp_path: Path, rows: Callable[..., dict[str, list[float]]]
) -> None:
    (docs / "a.md").write_text(FERRY)
    index(words=16)
    index(words=16, collection="outline", add_context="outline")
    store = open_store(tmp_path / "store")
    assert [store.fetch_info(name).context for name in ("docs", "outline")] == [None, "outline"]
    context = Context(store=str(tmp_path / "store"), collection="outline", embeddings=VECTORS, k=4)
    plain, added = (
        collections.list_passages(Context(**{**vars(context), "collection": n})) for n in ("docs", "outline")
    )
    assert plain == added  # ids, texts, places with their offsets
    in_plain, in_added = (load_bm25_index(store, name).score_passages("Osprey") > 0 for name in ("docs", "outline"))
    assert (list(in_plain), list(in_added)) == ([True, False, False, False], [True, True, True, False])
    vectors, plain_vectors = rows("outline"), rows()
    changed = {text.split()[0] for text in vectors if vectors[text] != plain_vectors[text]}
    assert changed == {"It", "Grown"}
    for retriever in ("bm25", "chroma", "hybrid"):
        found = asyncio.run(search("Osprey", Context(**{**vars(context), "retriever": retriever})))
        assert len(found) == 4
        assert not any("context" in passage for passage in found)
    model = ScriptedModel().on("answer", "four crowns")
    asked = Context(**{**vars(context), "retriever": "bm25", "k": 3, "model": model})
    result = library.answer_sync("What does the Osprey cost?", method="concat", context=asked)
    shown = str(model.history[0].messages[0].content) + json.dumps(result["passages"])
    assert FARES in shown
    assert shown.count(FIRST) == 2  # the passage that has it, in the prompt and in the result


def test_a_changed_first_sentence_changes_the_vectors_of_the_passages_below_it(
    docs: Path, index: IndexFunction, rows: Callable[..., dict[str, list[float]]]
) -> None:
    (docs / "a.md").write_text(FERRY)
    index(words=16, add_context="outline")
    before = rows()
    (docs / "a.md").write_text(FERRY.replace("Osprey", "Heron"))
    embedded = VECTORS.embedded_count
    assert index(words=16).replaced == 1  # it goes on as the collection is
    assert VECTORS.embedded_count - embedded == 3  # not the passage on trains
    index(words=16, collection="fresh", add_context="outline")
    assert rows() == rows("fresh") != before
    (docs / "a.md").write_text(FERRY)
    index(words=16)
    assert rows() == before


def test_a_passage_of_two_documents_has_the_context_of_one_that_is_still_there(
    docs: Path, index: IndexFunction, tmp_path: Path, rows: Callable[..., dict[str, list[float]]]
) -> None:
    for name, first in (("a", "Brae has docks."), ("b", "Lund has docks.")):
        (docs / f"{name}.md").write_text(f"# Towns\n\n{first} {SHARED}")
    options = {"words": 13, "add_context": "outline"}
    index(**options)
    both = rows()
    index(docs / "b.md", collection="only", **options)
    (docs / "c.md").write_text((docs / "a.md").read_text())
    (docs / "a.md").unlink()
    index(**options, prune=True)
    moved = rows()
    assert len(both) == len(moved) == len(rows("only")) + 1
    (docs / "c.md").unlink()
    index(**options, prune=True)
    assert rows() == rows("only")
    (docs / "a.md").write_text(f"# Towns\n\nBrae has docks. {SHARED}")
    index(**options)
    assert rows() == both


def test_another_context_is_refused_with_the_command_that_rebuilds(docs: Path, index: IndexFunction) -> None:
    (docs / "a.md").write_text(FERRY)
    index(add_context="outline")
    with pytest.raises(SetupError, match="rm docs && quorum index PATH --collection docs --context none"):
        index(add_context="none")
    assert index().unchanged == index(add_context="outline").unchanged == 1
    index(collection="plain")
    with pytest.raises(SetupError, match=r"indexed with the context 'none', but 'outline' is set"):
        index(collection="plain", add_context="outline")
    with pytest.raises(SetupError, match=r"no context 'summary' for an index; give none or outline"):
        check_added_context("summary")


def test_an_exported_collection_is_imported_with_its_contexts(
    docs: Path, index: IndexFunction, tmp_path: Path, rows: Callable[..., dict[str, list[float]]]
) -> None:
    (docs / "a.md").write_text(FERRY)
    index(words=16, add_context="outline")
    store, file = tmp_path / "store", tmp_path / "docs.jsonl"
    write_export("docs", store, file)
    import_lines(file, "again", store, VECTORS)
    assert rows("again") == rows()
    assert open_store(store).fetch_info("again").context == "outline"


def test_a_field_context_of_ones_own_is_not_taken_for_that_of_an_index(
    docs: Path, index: IndexFunction, tmp_path: Path
) -> None:
    (docs / "a.md").write_text(FERRY)
    index(words=16, collection="plain")
    store, own, exported = tmp_path / "store", tmp_path / "own.jsonl", tmp_path / "docs.jsonl"
    own.write_text('{"id": "u", "title": "T", "text": "Tea is green.", "context": "About drinks."}')
    for name in ("plain", "new"):
        assert import_lines(own, name, store, VECTORS).passages
        assert open_store(store).fetch_info(name).context is None
    index(words=16, collection="outline", add_context="outline")
    write_export("outline", store, exported)
    with pytest.raises(
        SetupError, match=r"have a context \(their field 'context'\), and those of the collection 'plain'"
    ):
        import_lines(exported, "plain", store, VECTORS)


def test_settings_of_an_index_name_the_context() -> None:
    settings = parse_index_settings("words=200;context=outline")
    assert settings.name_collection("docs", "1a2b") == "docs-words-200-context-outline-1a2b"
    assert settings.parameters == {"words": 200, "add_context": "outline"}
    assert parse_index_settings("context=none") == IndexSettings()
    with pytest.raises(SetupError, match="give none or outline"):
        parse_index_settings("context=summary")


def test_python_and_the_command_line_take_it(docs: Path, quorum: Quorum) -> None:
    (docs / "a.md").write_text(FERRY)
    assert quorum("index", str(docs), "-c", "docs", "--words", "16", "--context", "outline").code == 0
    pages = [Document(FERRY.split("## Trains")[0], metadata={"source": "a.md"})]
    library.index(documents=pages, collection="pages", words=16, add_context="outline")
    store = open_store(Context().store)
    contexts = [passage.get("context") for passage in store.fetch_passages("pages")[1]]
    assert (
        contexts == [passage.get("context") for passage in store.fetch_passages("docs")[1]][:3] == [None, FIRST, FIRST]
    )
    assert "context outline" in quorum("collections", "show", "docs").out
    refused = quorum("index", str(docs), "-c", "docs", "--context", "none")
    assert (refused.code, "rebuild this one: quorum collections rm docs" in " ".join(refused.err.split())) == (2, True)
