"""Loads the network of the embedded reader and embeddings, and opens stores, before the first question.

So the measured time of the first question does not include the loading.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from quorum.core.context import Context
from quorum.core.errors import QuorumError
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.shared_retrieval import CachingRetriever

WARM_UP_QUERY = "a first question"


async def warm_up(columns: Sequence[Column], *, retrieves: bool) -> None:
    """Load the network of the embedded reader and embeddings if the model, the verifier or the context filter of a
    column is embedded, or if a search uses embedded embeddings. Open the stores that these searches use.

    retrieves: whether the evaluation searches for passages; if the questions bring their own, no store is opened.
    No model on a server is called, and the work counts neither as calls nor as tokens. Columns that share a retriever
    warm it up once. An error of a retriever is ignored, because the first question reports it.
    """
    contexts = [column.context for column in columns]
    embedded_contexts = [context for context in contexts if retrieves and context.embeddings == "embedded"]
    if embedded_contexts or any(map(has_embedded_model, contexts)):
        await asyncio.to_thread(load_encoder)
    for retriever in {id(context.retriever): context.retriever for context in embedded_contexts}.values():
        if isinstance(retriever, CachingRetriever) and is_built_in(retriever):
            with suppress(QuorumError):
                await retriever.ainvoke(WARM_UP_QUERY)


def has_embedded_model(context: Context) -> bool:
    """Whether the model, the verifier, the context filter or the reranker is embedded."""
    # filter_kind is "embedded" for the specs "embedded", "embedded:FOLDER" and "llm:embedded".
    filter_kind = (context.context_filter or "").strip().removeprefix("llm:").partition(":")[0]
    return "embedded" in (context.model, context.verifier, filter_kind) or context.reranker == "reader"


def is_built_in(retriever: CachingRetriever) -> bool:
    """Whether the cached retriever is a BM25, Chroma or hybrid retriever, which with embedded embeddings call no model
    on a server.
    """
    from quorum.retrievers.langchain_retrievers import BM25Retriever, ChromaRetriever, HybridRetriever

    return isinstance(retriever.inner, BM25Retriever | ChromaRetriever | HybridRetriever)


def load_encoder() -> None:
    """Load the embedded encoder, and run it once."""
    from quorum.models.embedded.encoder import get_encoder

    get_encoder().embed([WARM_UP_QUERY])
