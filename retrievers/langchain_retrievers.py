"""The retrievers: dense (Chroma), BM25, ColBERT, dense and BM25 fused, and BM25 over given passages. Each is a
LangChain `BaseRetriever`.

Their documents carry the passage's id, its text, and `title` and `score` as metadata. Asynchronous calls embed with the
embeddings' own asynchronous method and run Chroma and BM25 on threads.
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
from quorum.models import embedding_name
from quorum.models.token_embeddings import token_encoder
from quorum.retrievers.bm25 import Ranking
from quorum.retrievers.bm25_cache import ranking
from quorum.retrievers.colbert_cache import token_index
from quorum.retrievers.embedder import embedder
from quorum.retrievers.passages import check_question, scored, to_document
from quorum.retrievers.store import open_store

RRF_K = 60


def depth(k: int) -> int:
    """How many passages the hybrid retriever reads from each of its two rankings."""
    return max(4 * k, 20)


class Retriever(BaseRetriever):
    """The base of the retrievers: the k best passages for a query."""

    k: int = Field(default=5, ge=1)
    model_config = ConfigDict(arbitrary_types_allowed=True)

    def find(self, query: str) -> list[Passage]:
        raise NotImplementedError

    async def afind(self, query: str) -> list[Passage]:
        return await asyncio.to_thread(self.find, query)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [to_document(passage) for passage in self.find(check_question(query))]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [to_document(passage) for passage in await self.afind(check_question(query))]


class ChromaRetriever(Retriever):
    """Dense retrieval; score is the cosine of question and passage, or the inner product if the embeddings want it."""

    collection: str
    store: str
    embeddings: str | InstanceOf[Embeddings] = "embedded"

    def find(self, query: str) -> list[Passage]:
        return self.nearest(self.model().embed_query(query))

    async def afind(self, query: str) -> list[Passage]:
        model = await asyncio.to_thread(self.model)
        if type(model).aembed_query is Embeddings.aembed_query:  # a thread would embed, and another one search
            return await asyncio.to_thread(self.find, query)
        return await asyncio.to_thread(self.nearest, await model.aembed_query(query))

    def model(self) -> Embeddings:
        """The embedding model, if the collection was made with it."""
        open_store(self.store).check_embedding(self.collection, embedding_name(self.embeddings))
        return embedder(self.embeddings)

    def nearest(self, vector: Sequence[float]) -> list[Passage]:
        name = embedding_name(self.embeddings)
        return open_store(self.store).query(self.collection, vector, self.k, name) or empty(self.collection)


class BM25Retriever(Retriever):
    """Lexical retrieval; score is BM25's, 0 for passages without a word of the question."""

    collection: str
    store: str

    def find(self, query: str) -> list[Passage]:
        return ranking(open_store(self.store), self.collection).top(query, self.k) or empty(self.collection)


class GivenRetriever(Retriever):
    """BM25 over passages given with the question; those without a word of it follow in the order given."""

    passages: list[Any]

    def find(self, query: str) -> list[Passage]:
        return Ranking(self.passages).top(query, self.k)


class ColbertRetriever(Retriever):
    """Late interaction; score is the sum, over the question's tokens, of each one's best match in the passage."""

    collection: str
    store: str
    model: str

    def find(self, query: str) -> list[Passage]:
        encoder = token_encoder(self.model)
        index = token_index(open_store(self.store), self.collection, encoder)
        return index.top(query, self.k, encoder) or empty(self.collection)


class HybridRetriever(Retriever):
    """Reciprocal rank fusion of dense and lexical retrieval (Cormack et al. 2009): sum of 1 / (60 + rank)."""

    dense: ChromaRetriever
    lexical: BM25Retriever

    def find(self, query: str) -> list[Passage]:
        return fuse([self.dense.find(query), matching(self.lexical.find(query))])[: self.k]

    async def afind(self, query: str) -> list[Passage]:
        dense, lexical = await asyncio.gather(self.dense.afind(query), self.lexical.afind(query))
        return fuse([dense, matching(lexical)])[: self.k]


def matching(passages: list[Passage]) -> list[Passage]:
    """The passages that share a word with the question; the rank of the others means nothing."""
    return [passage for passage in passages if passage["score"] > 0]


def fuse(rankings: list[list[Passage]]) -> list[Passage]:
    """Reciprocal rank fusion, best first; equal sums keep the order in which the rankings first name them."""
    sums: dict[str, float] = {}
    named: dict[str, Passage] = {}
    for found in rankings:
        for rank, passage in enumerate(found, start=1):
            sums[passage["id"]] = sums.get(passage["id"], 0.0) + 1 / (RRF_K + rank)
            named.setdefault(passage["id"], passage)
    order = sorted(sums, key=lambda id_: -sums[id_])
    return [scored(named[id_], sums[id_]) for id_ in order]


def empty(collection: str) -> NoReturn:
    raise SetupError(
        f"The collection {collection!r} holds no passages; add some with: quorum index PATH --collection {collection}"
    )
