"""LangChain retrievers: dense (Chroma), BM25, ColBERT, hybrid (dense and BM25, fused), and BM25 over given passages.

The documents that they return carry the passage's id, its text, and `title`, `score` and, if known, `places` as
metadata. Asynchronous calls embed with the embeddings' own asynchronous method and run Chroma and BM25 on threads.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, NoReturn

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, InstanceOf

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.core.where import NothingMatchesError, describe_filter, has_right
from quorum.models import get_embedding_name
from quorum.models.token_embeddings import get_token_encoder
from quorum.models.vectors import embed_question, embed_question_async
from quorum.retrievers.bm25 import BM25Index
from quorum.retrievers.bm25_cache import load_bm25_index
from quorum.retrievers.colbert_cache import load_token_index
from quorum.retrievers.collection_filters import keep_passing_places, read_filter
from quorum.retrievers.embedder import get_embedder
from quorum.retrievers.foreign_embeddings import choose_embeddings
from quorum.retrievers.passages import check_question, copy_with_score, make_document
from quorum.retrievers.store import open_store

# Chosen together (docs/retrievers.md, `python -m benchmarks.fusion`). With 60, the constant of Cormack et al., a
# passage that is 20th in both rankings beats one that is first in only one, such as the part that a question names.
RANK_CONSTANT = 2
RANKING_DEPTH = 100


def choose_ranking_depth(k: int) -> int:
    """How many passages the hybrid retriever reads from each of its two rankings."""
    return max(4 * k, RANKING_DEPTH)


class Retriever(BaseRetriever):
    """The base of the retrievers: the k best passages for a query.

    where: a filter, as text (`quorum.core.where.format_where`); None: all passages may be found.
    """

    k: int = Field(default=5, ge=1)
    where: str | None = None
    model_config = ConfigDict(arbitrary_types_allowed=True)

    def find(self, query: str) -> list[Passage]:
        raise NotImplementedError

    async def afind(self, query: str) -> list[Passage]:
        return await asyncio.to_thread(self.find, query)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return self.make_documents(self.find(check_question(query)))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.make_documents(await self.afind(check_question(query)))

    def make_documents(self, passages: list[Passage]) -> list[Document]:
        """The passages as documents. One that stands in several files names those that pass the filter."""
        chosen = passages if self.where is None else [keep_passing_places(p, self.where) for p in passages]
        return [make_document(passage) for passage in chosen]


class ChromaRetriever(Retriever):
    """Dense retrieval. The score is the cosine of question and passage, or their inner product if the collection was
    created with the similarity "dot".
    """

    collection: str
    store: str
    embeddings: str | InstanceOf[Embeddings] = "embedded"
    title_key: str | None = None

    def find(self, query: str) -> list[Passage]:
        return self.find_nearest(embed_question(self.get_model(), query))

    async def afind(self, query: str) -> list[Passage]:
        model = await asyncio.to_thread(self.get_model)
        # A model without an asynchronous method of its own: embed and search on one thread.
        if type(model).aembed_query is Embeddings.aembed_query:
            return await asyncio.to_thread(self.find, query)
        return await asyncio.to_thread(self.find_nearest, await embed_question_async(model, query))

    def get_model(self) -> Embeddings:
        """The embedding model. Raises `SetupError` if the collection was made with another one."""
        return get_embedder(choose_embeddings(open_store(self.store), self.collection, self.embeddings))

    def find_nearest(self, vector: Sequence[float]) -> list[Passage]:
        name = get_embedding_name(self.embeddings)
        passages = open_store(self.store).query(self.collection, vector, self.k, name, self.title_key, self.where)
        return passages or refuse_empty(self.collection, self.store, self.where)


class BM25Retriever(Retriever):
    """Lexical retrieval. The score is BM25's; 0 for passages without a word of the question."""

    collection: str
    store: str
    title_key: str | None = None
    language: str = "english"

    def find(self, query: str) -> list[Passage]:
        index = load_bm25_index(open_store(self.store), self.collection, self.title_key, self.language)
        within = find_within(self.store, self.collection, self.where)
        return index.find_best(query, self.k, within) or refuse_empty(self.collection, self.store, self.where)


class GivenRetriever(Retriever):
    """BM25 over the question's own passages. Passages without a word of the question come last, in the given order."""

    passages: list[Any]
    language: str = "english"

    def find(self, query: str) -> list[Passage]:
        return BM25Index(self.passages, language=self.language).find_best(query, self.k)


class ColbertRetriever(Retriever):
    """Late interaction. The score is the sum, over the question's tokens, of each token's best match in the passage."""

    collection: str
    store: str
    model: str  # the name of the token encoder
    title_key: str | None = None

    def find(self, query: str) -> list[Passage]:
        encoder = get_token_encoder(self.model)
        index = load_token_index(open_store(self.store), self.collection, encoder, self.title_key)
        within = find_within(self.store, self.collection, self.where)
        return index.find_best(query, self.k, encoder, within) or refuse_empty(self.collection, self.store, self.where)


class HybridRetriever(Retriever):
    """Reciprocal rank fusion (Cormack et al. 2009) of dense and lexical retrieval.

    The score is the sum of 1 / (2 + rank) over the rankings that contain the passage. The constant 2, in place of
    the paper's 60, keeps what one ranking is sure of: a question that names one record of many alike finds it.
    """

    dense: ChromaRetriever
    lexical: BM25Retriever

    def find(self, query: str) -> list[Passage]:
        return fuse_rankings([self.dense.find(query), keep_matching_passages(self.lexical.find(query))])[: self.k]

    async def afind(self, query: str) -> list[Passage]:
        dense_ranking, lexical_ranking = await asyncio.gather(self.dense.afind(query), self.lexical.afind(query))
        return fuse_rankings([dense_ranking, keep_matching_passages(lexical_ranking)])[: self.k]


def keep_matching_passages(passages: list[Passage]) -> list[Passage]:
    """The passages that share a word with the question. All others have the score 0, so their ranks mean nothing."""
    return [passage for passage in passages if passage["score"] > 0]


def fuse_rankings(rankings: list[list[Passage]], constant: int = RANK_CONSTANT) -> list[Passage]:
    """Reciprocal rank fusion, best first. Passages with equal sums stay in the order of their first appearance."""
    sums: dict[str, float] = {}
    passage_of_id: dict[str, Passage] = {}
    for ranking in rankings:
        for rank, passage in enumerate(ranking, start=1):
            sums[passage["id"]] = sums.get(passage["id"], 0.0) + 1 / (constant + rank)
            passage_of_id.setdefault(passage["id"], passage)
    order = sorted(sums, key=lambda id_: -sums[id_])
    return [copy_with_score(passage_of_id[id_], sums[id_]) for id_ in order]


def find_within(store: str, collection: str, where: str | None) -> frozenset[str] | None:
    """The ids of the passages that pass the filter; None without a filter."""
    return None if where is None else open_store(store).fetch_matching_ids(collection, where)


def refuse_empty(collection: str, store: str, where: str | None = None) -> NoReturn:
    """Raise the `SetupError` for a collection without passages, or without one that passes the filter."""
    if where is not None:
        part = read_filter(where)
        keys = "" if has_right(part) else f" ({open_store(store).describe_metadata(collection)})"
        raise NothingMatchesError(
            f"No passage of the collection {collection!r} passes where {describe_filter(part)}; widen the filter or "
            f"leave it out{keys}."
        )
    raise SetupError(
        f"The collection {collection!r} holds no passages with a text; add some, for one of Quorum's own with: quorum "
        f"index PATH --collection {collection}"
    )
