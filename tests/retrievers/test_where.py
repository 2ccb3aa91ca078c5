"""A search with a filter finds what a collection of the passing passages alone would give."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from wordvectors import WordVectors

import quorum
from quorum.cascades.cascade_cache import CASCADE_CACHE, get_cache
from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.core.where import NothingMatchesError
from quorum.evaluation.run.columns import parse_columns
from quorum.evaluation.run.shared_retrieval import share_retrieval
from quorum.retrievers import search
from quorum.retrievers.colbert import TokenIndex
from quorum.retrievers.index import index_documents, index_passages
from quorum.retrievers.manage_collections import list_collection_summaries
from quorum.retrievers.store import OPEN_STORES, open_store

VECTORS: Any = WordVectors(512)
QUESTION = "Who books the train to Orrin in winter?"
PEOPLE = ["Ida", "Greta", "Ivo", "Mira", "Ada", "Otto"]
LINES = [
    {
        "id": f"p{number}",
        "title": f"Rule {number}",
        # The lengths differ, so that no two passages are equally near to the question.
        "text": f"{PEOPLE[number % 6]} books {'the train to Orrin in winter ' * (number % 4)}{'by day ' * number}.",
        "metadata": {
            "year": 2018 + number % 5,
            "team": "HR" if number % 3 else "IT",
            "tags": ["a", "b"] if number % 5 < 2 else ["a"],
        },
    }
    for number in range(24)
]
FILTERS: dict[str, Any] = {
    "year>=2021 and team=HR": lambda data: data["year"] >= 2021 and data["team"] == "HR",
    '{"$or": [{"year": 2018}, {"team": {"$ne": "HR"}}]}': lambda data: data["year"] == 2018 or data["team"] == "IT",
    "tags contains b": lambda data: "b" in data["tags"],
}


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Context]:
    """Of the collection "all", and of "only0", "only1", ... with the passages that pass each of FILTERS."""
    folder = tmp_path_factory.mktemp("where")
    context = Context(store=str(folder / "store"), embeddings=VECTORS, collection="all", k=6, journal="off")
    passing = [[line for line in LINES if passes(line["metadata"])] for passes in FILTERS.values()]
    for name, lines in (("all", LINES), *((f"only{number}", lines) for number, lines in enumerate(passing))):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
        index_documents([folder / f"{name}.jsonl"], collection=name, store=context.store, embeddings=VECTORS)
    yield context
    OPEN_STORES.get().get.cache_clear()


@pytest.mark.parametrize("number", range(len(FILTERS)))
@pytest.mark.parametrize("retriever", ["bm25", "chroma", "hybrid"])
async def test_it_is_as_if_there_were_no_other_passages(context: Context, retriever: str, number: int) -> None:
    filtered = replace(context, retriever=retriever, where=list(FILTERS)[number])
    found = await search(QUESTION, filtered)
    alone = await search(QUESTION, replace(filtered, collection=f"only{number}", where=None))
    assert [passage["id"] for passage in found] == [passage["id"] for passage in alone]
    assert [p["score"] for p in found] == pytest.approx([p["score"] for p in alone], abs=1e-5)
    assert len(found) == 6
    everything = await search(QUESTION, replace(filtered, where=None))
    assert {passage["id"] for passage in everything} != {passage["id"] for passage in found}
    again = await search(QUESTION, filtered)  # from what is kept
    assert again == found


class TokenVectors:
    """A token encoder in which each of the first words is an axis."""

    def encode_question(self, question: str) -> Any:
        return np.eye(3, 4, dtype=np.float32)


def test_colbert_compares_the_passing_passages_only() -> None:
    generator = np.random.default_rng(0)
    lengths = [2, 3, 0, 1, 4, 2, 5]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    vectors = generator.normal(size=(int(starts[-1]), 4)).astype(np.float16)
    passages: list[Any] = [{"id": str(i), "title": "", "text": str(i)} for i in range(len(lengths))]
    index, encoder = TokenIndex(passages, vectors, starts, tokens_at_once=3), TokenVectors()
    chosen = [6, 1, 2, 4]
    parts = [vectors[starts[i] : starts[i + 1]] for i in sorted(chosen)]
    alone = TokenIndex(
        [passages[i] for i in sorted(chosen)],
        np.concatenate(parts),
        np.concatenate([[0], np.cumsum([len(part) for part in parts])]),
    )
    found = index.find_best("Who?", 9, encoder, frozenset(map(str, chosen)))  # type: ignore[arg-type]
    assert found == alone.find_best("Who?", 9, encoder)  # type: ignore[arg-type]
    assert index.find_best("Who?", 9, encoder, frozenset()) == []  # type: ignore[arg-type]


async def test_a_collection_of_another_program_is_filtered(tmp_path: Path) -> None:
    client: Any = chromadb.PersistentClient(tmp_path / "theirs")
    collection = client.create_collection("theirs", embedding_function=None)
    texts = [line["text"] for line in LINES]
    collection.add(
        ids=[line["id"] for line in LINES],
        embeddings=VECTORS.embed_documents(texts),
        documents=texts,
        metadatas=[line["metadata"] for line in LINES],
    )
    client.close()
    theirs = Context(store=str(tmp_path / "theirs"), collection="theirs", embeddings=VECTORS, k=30)
    for (where, passes), retriever in zip(FILTERS.items(), ("bm25", "chroma", "hybrid"), strict=True):
        found = await search(QUESTION, replace(theirs, where=where, retriever=retriever))
        assert {p["id"] for p in found} == {line["id"] for line in LINES if passes(line["metadata"])}
    with pytest.raises(
        SetupError, match=r"'colour'; the keys are: tags \(list of text\), team \(text\), year \(number\)"
    ):
        await search(QUESTION, replace(theirs, where="colour=red"))


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("colour=red", r"collection 'all' has the metadata 'colour'; the keys are: .*year \(number\)"),
        (
            "year>=abc",
            r"year>=abc does not fit: in the collection 'all' 'year' is number; the keys are: file_type",
        ),
        ({"year": "2020"}, r"year=\"2020\" does not fit"),
        ("tags=a", "'tags' is list of text"),
        ("team>=HR", "'team' is text"),
        ("year contains 2", "'year' is number"),
    ],
)
@pytest.mark.parametrize("retriever", ["bm25", "chroma"])
async def test_a_wrong_key_or_value_is_named_with_the_keys(
    context: Context, retriever: str, where: Any, message: str
) -> None:
    with pytest.raises(SetupError, match=message):
        await search(QUESTION, replace(context, where=where, retriever=retriever))


@pytest.mark.parametrize("retriever", ["bm25", "chroma", "hybrid"])
async def test_where_nothing_passes_one_sentence_says_so(context: Context, retriever: str) -> None:
    with pytest.raises(NothingMatchesError, match="No passage of the collection 'all' passes where year>3000; widen"):
        await search(QUESTION, replace(context, where="year>3000", retriever=retriever))


async def test_given_passages_are_filtered(context: Context) -> None:
    given: list[Any] = [{key: line[key] for key in ("id", "title", "text", "metadata")} for line in LINES]
    for where, passes in FILTERS.items():
        result = await quorum.answer(QUESTION, "concat", Context(where=where, k=3), given=given)
        expected = [line["id"] for line in LINES if passes(line["metadata"])]
        assert [p["id"] for p in result["passages"]] == expected[:3]
    ranked = await search(QUESTION, Context(where="team=IT", k=2), given)
    assert [p["id"] for p in ranked] == [
        p["id"] for p in await search(QUESTION, Context(k=2), [p for p in given if p["metadata"]["team"] == "IT"])
    ]
    with pytest.raises(SetupError, match="the given passages has the metadata 'colour'; the keys are: tags"):
        await quorum.answer(QUESTION, "concat", Context(where="colour=red"), given=given)
    with pytest.raises(NothingMatchesError, match="None of the 24 given passages passes where year>3000"):
        await quorum.answer(QUESTION, "concat", Context(where="year>3000"), given=given)


async def test_a_passage_of_several_files_passes_if_one_of_them_does(tmp_path: Path) -> None:
    text = " ".join(f"Word{number} of the rule that both files have." for number in range(8))
    for name, year in (("a", 2019), ("b", 2021)):
        (tmp_path / f"{name}.md").write_text(
            f"---\nyear: {year}\n---\n# Rules\n\n## Shared\n\n{text}\n\n## Own\n\nOnly {name}.\n"
        )
    index_documents([tmp_path / "a.md", tmp_path / "b.md"], collection="copies", embeddings=VECTORS)
    for retriever in ("bm25", "chroma"):
        both = Context(collection="copies", embeddings=VECTORS, retriever=retriever, k=9)
        for name, year in (("a", 2019), ("b", 2021)):
            for where in (f"source={name}.md", f"year={year}", f"year={year} and source={name}.md"):
                found = await search("Which rule is shared?", replace(both, where=where))
                [shared] = [passage for passage in found if "Word3" in passage["text"]]
                assert shared["metadata"]["source"] == f"{name}.md"
                assert Path(shared["places"][0]["file"]).stem == name
                assert not any(f"Only {'ab'.replace(name, '')}." in passage["text"] for passage in found)
        with pytest.raises(NothingMatchesError):
            await search("Which?", replace(both, where="year=2019 and source=b.md"))


async def test_a_collection_of_an_older_version_is_filtered_by_the_keys_that_it_has() -> None:
    index_passages([Passage(id="1", title="Mills", text="Greta built it.")], collection="old", embeddings=VECTORS)
    store = open_store(".quorum")
    store.write("old", replace(store.fetch_info("old"), keys=None).with_new_revision(is_being_changed=False))
    old = Context(collection="old", embeddings=VECTORS)
    assert [p["id"] for p in await search("Who?", replace(old, where="title=Mills"))] == ["1"]
    with pytest.raises(SetupError, match=r"'year'; the keys are: title \(text\)"):
        await search("Who?", replace(old, where="year=2020"))


async def test_two_filters_share_no_search_of_a_cascade_or_an_evaluation(context: Context) -> None:
    names = "concat[where=year>=2021],sure[where=team=HR],direct"
    columns = share_retrieval(parse_columns(names, context))
    retrievers = [column.context.retriever for column in columns]
    assert len({id(retriever) for retriever in retrievers}) == 3
    found = [await search(QUESTION, column.context) for column in columns]
    token = CASCADE_CACHE.set(get_cache("a run", 0))
    try:
        contexts = [replace(context, where=where) for where in ("year>=2021", "team=HR", None)]
        assert [await search(QUESTION, one) for one in contexts] == found
    finally:
        CASCADE_CACHE.reset(token)
    assert len({tuple(p["id"] for p in passages) for passages in found}) == 3


async def test_a_retriever_of_the_users_own_does_not_filter_and_says_so(context: Context) -> None:
    from quorum.retrievers.langchain_retrievers import GivenRetriever

    own = GivenRetriever(k=3, passages=LINES)
    with pytest.raises(SetupError, match="not what the retriever GivenRetriever finds"):
        await search(QUESTION, Context(retriever=own, where="year>=2021"))


def test_a_removed_collection_leaves_no_lists_to_the_next() -> None:
    passage: Any = {"id": "1", "title": "", "text": "A text.", "metadata": {"tags": ["hr"], "year": 2020}}
    index_passages([passage], collection="first", embeddings=VECTORS)
    open_store(".quorum").delete("first")
    index_passages([Passage(id="2", title="", text="Another.")], collection="second", embeddings=VECTORS)
    assert "metadata" not in open_store(".quorum").fetch_passages("second")[1][0]
    assert [summary.name for summary in list_collection_summaries(".quorum")] == ["second"]
