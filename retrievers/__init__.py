"""Retrieval: the k best passages for a query, from a collection or from given passages."""

import asyncio
from typing import TYPE_CHECKING

from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.retrievers.passages import check_question, from_document

if TYPE_CHECKING:
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnableConfig

    from quorum.core.context import Context

__all__ = ["late_model", "retriever", "search"]


def retriever(context: "Context") -> "BaseRetriever":
    """The context's retriever over its collection: "hybrid", "chroma", "bm25" or "colbert:MODEL"; an object is used as
    it is.

    The sample collection is made here if it is not there: blocks.
    """
    if not isinstance(context.retriever, str):
        return context.retriever
    from quorum.retrievers.collection_names import SAMPLE, check_name
    from quorum.retrievers.collections import ensure_sample
    from quorum.retrievers.langchain_retrievers import (
        BM25Retriever,
        ChromaRetriever,
        ColbertRetriever,
        HybridRetriever,
        depth,
    )

    kind, name = context.retriever, check_name(context.collection)
    model = late_model(kind)
    if name == SAMPLE:
        ensure_sample(context)

    def dense(k: int) -> ChromaRetriever:
        return ChromaRetriever(k=k, collection=name, store=context.store, embeddings=context.embeddings)

    def lexical(k: int) -> BM25Retriever:
        return BM25Retriever(k=k, collection=name, store=context.store)

    if model:
        return ColbertRetriever(k=context.k, collection=name, store=context.store, model=model)
    if kind == "hybrid":
        each = depth(context.k)
        return HybridRetriever(k=context.k, dense=dense(each), lexical=lexical(each))
    return dense(context.k) if kind == "chroma" else lexical(context.k)


def late_model(kind: str) -> str:
    """The model of "colbert:MODEL"; empty for the other kinds. A `SetupError` for what is no kind of retriever."""
    late, colon, model = kind.partition(":")
    model = model.strip() if (late, colon) == ("colbert", ":") else ""
    if not model and kind not in ("hybrid", "chroma", "bm25"):
        hint = "; 'given' is used by itself where passages are given" if kind == "given" else ""
        raise SetupError(f"There is no retriever {kind!r}; choose one of: hybrid, chroma, bm25, colbert:MODEL{hint}.")
    return model


async def search(
    query: str, context: "Context", given: list[Passage] | None = None, *, config: "RunnableConfig | None" = None
) -> list[Passage]:
    """The best `context.k` passages for a query, best first, with scores; all of them when there are fewer.

    With `given`, BM25 over these passages alone; without, the context's retriever over its collection.
    """
    check_question(query)
    chosen = await asyncio.to_thread(chosen_retriever, context, given)
    documents = await chosen.ainvoke(query, config=config)
    return [from_document(document) for document in documents[: context.k]]


def chosen_retriever(context: "Context", given: list[Passage] | None) -> "BaseRetriever":
    """BM25 over the given passages if there are any to choose from, else the context's retriever."""
    if given is None:
        return retriever(context)
    from quorum.retrievers.langchain_retrievers import GivenRetriever

    return GivenRetriever(k=context.k, passages=given)
