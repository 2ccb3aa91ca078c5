"""Search over a real Chroma store on disk: every retriever, its errors, and that the event loop is never blocked."""

import asyncio
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from retriever_names import LISTED_RETRIEVERS, PLAIN_RETRIEVERS
from wordvectors import WordVectors

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.retrievers import get_retriever, search
from quorum.retrievers.index import index_passages
from quorum.retrievers.langchain_retrievers import fuse_rankings
from quorum.retrievers.store import open_store

SUBJECTS = ["river", "bridge", "tiger", "helium", "opera", "comet", "coffee", "vaccine", "tower", "glacier"]
CORPUS = [
    Passage(
        id=f"{subject}-{i}", title=subject.title(), text=f"Fact {i} about the {subject}: number {i * 7} of {subject}."
    )
    for subject in SUBJECTS
    for i in range(3)
]
VECTORS = WordVectors(256)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    index_passages(CORPUS, collection="facts", store=folder, embeddings=VECTORS)
    return folder


@pytest.fixture
def context(store: Path) -> Context:
    return Context(store=str(store), collection="facts", embeddings=VECTORS, k=3)


@pytest.mark.parametrize("retriever_name", PLAIN_RETRIEVERS)
async def test_the_passages_that_match_the_question_come_first(retriever_name: str, context: Context) -> None:
    passages = await search("What is known about the tiger?", replace(context, retriever=retriever_name))
    assert {passage["id"] for passage in passages} == {"tiger-0", "tiger-1", "tiger-2"}
    scores = [passage["score"] for passage in passages]
    assert scores == sorted(scores, reverse=True)
    assert passages[0]["title"] == "Tiger"
    assert passages[0]["text"].startswith("Fact ")


@pytest.mark.parametrize("retriever_name", PLAIN_RETRIEVERS)
async def test_k_beyond_the_corpus_returns_every_passage_once(retriever_name: str, context: Context) -> None:
    passages = await search("comet", replace(context, retriever=retriever_name, k=500))
    assert sorted(passage["id"] for passage in passages) == sorted(passage["id"] for passage in CORPUS)


@pytest.mark.parametrize("retriever_name", PLAIN_RETRIEVERS)
async def test_synchronous_and_asynchronous_calls_agree(retriever_name: str, context: Context) -> None:
    chosen_retriever = get_retriever(replace(context, retriever=retriever_name))
    question = "How high is the glacier tower?"
    assert await chosen_retriever.ainvoke(question) == await asyncio.to_thread(chosen_retriever.invoke, question)


async def test_dense_scores_are_cosines(context: Context) -> None:
    question = "river number 7"
    passages = await search(question, replace(context, retriever="chroma", k=1))
    text = f"{passages[0]['title']}\n{passages[0]['text']}"
    question_vector, text_vector = VECTORS.embed_query(question), VECTORS.embed_query(text)
    assert passages[0]["score"] == pytest.approx(
        sum(a * b for a, b in zip(question_vector, text_vector, strict=True)), abs=1e-5
    )


def test_fusion_adds_reciprocal_ranks() -> None:
    a, b, c = (Passage(id=i, title="", text=i, score=0.0) for i in "abc")
    fused_ranking = fuse_rankings([[a, b], [c, b]])
    assert [passage["id"] for passage in fused_ranking] == ["b", "a", "c"]
    assert [passage["score"] for passage in fused_ranking] == pytest.approx([2 / 4, 1 / 3, 1 / 3])


async def test_hybrid_ignores_lexical_ranks_of_passages_that_share_no_word_with_the_question(context: Context) -> None:
    passages = await search("zzz yyy", replace(context, k=5))
    assert [passage["score"] for passage in passages] == pytest.approx([1 / (2 + rank) for rank in range(1, 6)])


class ForeignRetriever(BaseRetriever):
    """A retriever of another package: its documents have no ids and no scores."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(page_content=f"{query} {i}", metadata={"title": "T"}) for i in range(9)]


async def test_a_retriever_of_another_package_is_accepted_and_cut_to_k(context: Context) -> None:
    passages = await search("q", replace(context, retriever=ForeignRetriever()))
    assert [passage["text"] for passage in passages] == ["q 0", "q 1", "q 2"]
    assert len({passage["id"] for passage in passages}) == 3
    assert all(passage["title"] == "T" and "score" not in passage for passage in passages)


@pytest.mark.parametrize("question", ["", "   ", "\n\t"])
async def test_an_empty_question_is_an_error(question: str, context: Context) -> None:
    with pytest.raises(SetupError, match="question is empty"):
        await search(question, context)
    with pytest.raises(SetupError, match="question is empty"):
        get_retriever(context).invoke(question)


@pytest.mark.parametrize("retriever_name", PLAIN_RETRIEVERS)
async def test_an_unknown_collection_is_an_error_that_names_the_existing_ones(
    retriever_name: str, context: Context
) -> None:
    with pytest.raises(SetupError, match=r"no collection 'fact' in the store .*there are: facts\. To create it"):
        await search("tiger", replace(context, retriever=retriever_name, collection="fact"))


async def test_a_question_does_not_create_a_missing_store(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="there is none yet"):
        await search("tiger", Context(store=str(tmp_path / "no"), collection="facts", embeddings=VECTORS))
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("retriever_name", ["hybrid", "chroma"])
async def test_different_embeddings_are_an_error(retriever_name: str, context: Context) -> None:
    with pytest.raises(
        SetupError, match=r"made with the embeddings 'wordvectors.WordVectors:words', but '.*:other' is"
    ):
        await search("tiger", replace(context, retriever=retriever_name, embeddings=WordVectors(model="other")))
    with pytest.raises(SetupError, match="holds vectors of 256 numbers, but the question's vector has 32"):
        await search("tiger", replace(context, retriever=retriever_name, embeddings=WordVectors(dimension=32)))


async def test_bm25_needs_no_embeddings(context: Context) -> None:
    assert await search("tiger", replace(context, retriever="bm25", embeddings="openai:unreachable"))


@pytest.mark.parametrize("retriever_name", PLAIN_RETRIEVERS)
async def test_an_empty_collection_is_an_error(retriever_name: str, tmp_path: Path) -> None:
    index_passages(CORPUS[:1], collection="few", store=tmp_path, embeddings=VECTORS)
    index_passages([], collection="few", store=tmp_path, embeddings=VECTORS)  # removes that passage
    with pytest.raises(SetupError, match="'few' holds no passages"):
        await search(
            "tiger", Context(store=str(tmp_path), collection="few", embeddings=VECTORS, retriever=retriever_name)
        )


@pytest.mark.parametrize("name", ["ab", "a" * 513, "a b", "-ab", "ab_", "a..b", "10.0.0.1", "äbc", "a/b", " ", "a\nb"])
async def test_names_that_chroma_refuses_are_errors(name: str, context: Context) -> None:
    with pytest.raises(SetupError, match="cannot name a collection; write 3 to 512"):
        await search("tiger", replace(context, collection=name))


@pytest.mark.parametrize("name", ["abc", "a" * 512, "A.b-c_9", "a--b", "1.2.3"])
def test_names_that_chroma_accepts_are_accepted(name: str, tmp_path: Path) -> None:
    index_passages(CORPUS[:1], collection=name, store=tmp_path, embeddings=VECTORS)
    assert open_store(tmp_path).list_collections() == [name]


async def test_an_unknown_retriever_is_an_error(context: Context) -> None:
    with pytest.raises(SetupError, match=f"no retriever 'dpr'; choose one of: {LISTED_RETRIEVERS}"):
        await search("tiger", replace(context, retriever="dpr"))


@pytest.mark.parametrize("address", ["", "ftp://host:1", "http://", "http://host:port", "http://host:8000/path"])
async def test_an_invalid_store_address_is_an_error(address: str) -> None:
    with pytest.raises(SetupError, match="The store"):
        await search("tiger", Context(store=address, collection="facts", embeddings=VECTORS))


async def test_a_file_in_place_of_a_store_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SetupError, match="cannot be made"):
        await asyncio.to_thread(index_passages, CORPUS, collection="facts", store=tmp_path / "file", embeddings=VECTORS)


async def test_the_lexical_index_follows_every_change(tmp_path: Path) -> None:
    context = Context(store=str(tmp_path), collection="facts", embeddings=VECTORS, retriever="bm25", k=1)

    def index_text(text: str) -> None:
        index_passages([Passage(id="1", title="", text=text)], collection="facts", store=tmp_path, embeddings=VECTORS)

    index_text("an otter")
    assert (await search("otter", context))[0]["text"] == "an otter"
    index_text("a badger")
    assert (await search("otter badger", context))[0]["text"] == "a badger"
    folders = [path for path in (tmp_path / "bm25").glob("*/*") if path.is_dir()]
    assert len(folders) == 1  # the index of the first text has been removed


async def test_a_broken_lexical_index_is_built_again(store: Path, context: Context) -> None:
    from quorum.retrievers import bm25_cache

    bm25_context = replace(context, retriever="bm25")
    passages_before = await search("opera", bm25_context)
    for file in (store / "bm25").glob("*/*/passages.jsonl"):
        file.write_text('{"id": "x"')
    bm25_cache.LOADED_INDEXES.clear()
    assert await search("opera", bm25_context) == passages_before


async def test_the_event_loop_is_never_blocked(context: Context) -> None:
    """Files and databases are opened, folders listed and modules imported on other threads only."""
    loop_thread, blocking_calls, watching = threading.get_ident(), list[str](), [True]

    def watch(event: str, args: tuple[Any, ...]) -> None:
        blocks = event in ("open", "sqlite3.connect", "os.listdir", "os.scandir", "os.mkdir", "fcntl.flock", "import")
        if watching and blocks and threading.get_ident() == loop_thread:
            blocking_calls.append(f"{event} {args}")

    sys.addaudithook(watch)
    for retriever_name in PLAIN_RETRIEVERS:
        await search("vaccine", replace(context, retriever=retriever_name))
    await search("vaccine", context, given=CORPUS)
    watching.clear()  # an audit hook cannot be removed, but it does nothing when this list is empty
    assert blocking_calls == []


async def test_many_questions_at_once_get_their_own_passages(context: Context) -> None:
    passages_of_question = await asyncio.gather(*(search(f"the {subject}", context) for subject in SUBJECTS * 5))
    assert [passages[0]["title"] for passages in passages_of_question] == [subject.title() for subject in SUBJECTS * 5]


def test_a_store_is_opened_once_for_each_folder(store: Path) -> None:
    assert open_store(store) is open_store(f"{store}/../{store.name}")
