"""Which collection is asked if none is named: in Python, on the command line, by compiled graphs and in evaluations."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from quorum_command import Quorum
from wordvectors import WordVectors

import quorum as public
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.evaluation.shown.searched import describe_searched
from quorum.graphs.concat import graph
from quorum.retrievers.choose_collection import list_choices, locate_collection
from quorum.retrievers.collections import list_collections
from quorum.retrievers.index import index_passages
from quorum.retrievers.store import open_store

VECTORS: Any = WordVectors()
QUESTION = "Who books train tickets?"
PLAIN: dict[str, Any] = {"retriever": "bm25", "k": 1}


def add_collection(name: str, text: str = "Train tickets are booked by Mira Oduya.", **options: Any) -> None:
    passages: Any = [{"id": "1", "title": "Travel", "text": text}]
    index_passages(passages, collection=name, store=".quorum", **options)


def make_foreign_collection(name: str) -> None:
    """A collection that another program made with Chroma."""
    with open_store(".quorum").open_client() as client:
        client.create_collection(name, embedding_function=None)


def test_the_only_collection_of_a_store_is_asked() -> None:
    add_collection("handbook")
    assert locate_collection(Context()) == Context(collection="handbook")
    assert public.answer_sync(QUESTION, context=Context(**PLAIN))["answer"] == "Mira Oduya"
    assert graph.invoke({"question": QUESTION}, context=Context(**PLAIN))["answer"] == "Mira Oduya"
    documents = public.as_retriever("concat", Context(**PLAIN)).invoke(QUESTION)
    assert [document.metadata["title"] for document in documents] == ["Travel"]
    assert list_collections(".quorum") == ["handbook"]
    assert not Path(".quorum/sample").exists()


def test_a_collection_that_is_added_later_is_noticed() -> None:
    assert list_choices(".quorum") == ["sample"]
    add_collection("handbook")
    assert list_choices(".quorum") == ["handbook"]
    add_collection("minutes")
    assert list_choices(".quorum") == ["handbook", "minutes"]
    open_store(".quorum").delete("handbook")
    assert list_choices(".quorum") == ["minutes"]


@pytest.mark.parametrize(
    "command",
    [
        ("ask", QUESTION),
        ("ask", QUESTION, "--stream"),
        ("chat",),
        ("serve", "--no-page", "--port", "0"),
        ("mcp",),
        ("eval", "questions.jsonl", "--methods", "concat"),
        ("experiment", "rerank", "questions.jsonl"),
        ("filter", "silver", "questions.jsonl", "--out", "silver.jsonl"),
    ],
    ids=" ".join,
)
def test_of_several_collections_one_sentence_names_them(command: tuple[str, ...], quorum: Quorum) -> None:
    add_collection("handbook")
    add_collection("minutes")
    Path("questions.jsonl").write_text(json.dumps({"id": "1", "question": QUESTION, "answers": ["Mira Oduya"]}) + "\n")
    run = quorum(*command)
    assert (run.code, run.out) == (2, "")
    message = (
        "The store .quorum holds 2 collections (handbook, minutes); choose one with --collection NAME, "
        "QUORUM_COLLECTION=NAME, or in Python Context(collection=NAME)."
    )
    assert run.err.splitlines()[-1] == f"quorum: {message}"


def test_a_method_that_searches_nothing_needs_no_collection(quorum: Quorum) -> None:
    add_collection("handbook")
    add_collection("minutes")
    run = quorum("ask", QUESTION, "--method", "no_retrieval")
    assert (run.code, run.out.splitlines()[0]) == (0, "unknown")
    assert "Searched: nothing; no passage was read." in run.out


def test_the_environment_names_a_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    add_collection("handbook")
    add_collection("minutes", "Minutes are kept by Ana Li.")
    monkeypatch.setenv("QUORUM_COLLECTION", "minutes")
    assert public.answer_sync("Who keeps minutes?", context=Context(**PLAIN))["answer"] == "Ana Li"


def test_collections_of_evaluations_count_only_in_a_store_without_others() -> None:
    add_collection("corpus-0123456789", made_for="evaluation", made_from="docs")
    assert list_choices(".quorum") == ["corpus-0123456789"]
    add_collection("handbook")
    assert list_choices(".quorum") == ["handbook"]


def test_collections_of_other_programs_count_only_in_a_store_without_others() -> None:
    make_foreign_collection("theirs")
    assert list_choices(".quorum") == ["theirs"]
    add_collection("handbook")
    assert list_choices(".quorum") == ["handbook"]


def test_many_collections_are_counted_and_some_named() -> None:
    for number in range(22):
        add_collection(f"c{number:02}", embeddings=VECTORS)
    with pytest.raises(SetupError, match=r"holds 22 collections \(c00, .*, c19 and 2 more\); choose one"):
        locate_collection(Context())


def test_the_sample_never_enters_a_store() -> None:
    context = Context(embeddings=VECTORS, **PLAIN)
    located_context = locate_collection(context)
    assert (located_context.collection, located_context.store) == ("sample", str(Path(".quorum/sample").resolve()))
    assert locate_collection(located_context) == located_context
    assert list_collections(".quorum") == []
    add_collection("handbook")
    assert locate_collection(replace(context, collection="sample")) == located_context
    assert list_collections(".quorum") == ["handbook"]


def test_a_users_own_collection_named_sample_is_asked() -> None:
    add_collection("sample")
    assert (
        locate_collection(Context()) == locate_collection(Context(collection="sample")) == Context(collection="sample")
    )


async def test_unknown_says_what_was_searched() -> None:
    add_collection("handbook")
    read: Any = {"unknown": True, "passages": [{"id": "1"}]}
    assert await describe_searched(read, Context()) == "Searched: the collection handbook (1 passage)."
    assert await describe_searched(read, Context(), [{}, {}]) == "Searched: 2 given passages."  # type: ignore[typeddict-item]
    assert await describe_searched({**read, "passages": []}, Context()) == "Searched: nothing; no passage was read."
    open_store(".quorum").delete("handbook")
    add_collection("minutes")
    add_collection("letters")
    assert await describe_searched(read, Context()) == "Searched: a collection that is gone now."


def test_an_evaluation_searches_the_only_collection(quorum: Quorum) -> None:
    add_collection("handbook")
    Path("questions.jsonl").write_text(json.dumps({"id": "1", "question": QUESTION, "answers": ["Mira Oduya"]}) + "\n")
    run = quorum("eval", "questions.jsonl", "--methods", "concat", "--out", "results")
    assert run.code == 0
    assert "quorum: searched the collection handbook, because the questions bring no passages" in run.err
    config = json.loads(Path("results/config.json").read_text())
    assert (config["source"]["passages"], config["source"]["collection"]) == ("collection", "handbook")


@pytest.mark.usefixtures("sample_vectors")
def test_the_sample_is_shown_and_exported_by_its_name(quorum: Quorum) -> None:
    assert quorum("collections").out.startswith("There are no collections yet, so that the built-in sample is asked;")
    assert quorum("collections", "show", "sample").out.startswith("sample: 196 passages of 36 files")
    assert len(quorum("collections", "export", "sample").out.splitlines()) == 196
    assert quorum("collections", "rm", "sample").out == "sample is removed, with all texts, vectors and indexes.\n"
