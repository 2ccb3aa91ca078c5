"""Loads local models and opens stores before the first question, so that its measured time does not include this."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from quorum.core.errors import QuorumError
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.shared_retrieval import CachingRetriever

WARM_UP_QUERY = "a first question"


async def warm_up(columns: Sequence[Column], *, retrieves: bool) -> None:
    """Load local models and open the stores that the columns use. No model on a server is called, nothing is counted.

    Columns that share a retriever warm it up once. A failure is ignored, because the first question reports it.
    """
    contexts = [column.context for column in columns]
    embedded_contexts = [context for context in contexts if retrieves and context.embeddings == "embedded"]
    if embedded_contexts or any("embedded" in (context.model, context.verifier) for context in contexts):
        await asyncio.to_thread(load_encoder)
    for retriever in {id(context.retriever): context.retriever for context in embedded_contexts}.values():
        if isinstance(retriever, CachingRetriever) and is_built_in(retriever):
            with suppress(QuorumError):
                await retriever.ainvoke(WARM_UP_QUERY)


def is_built_in(retriever: CachingRetriever) -> bool:
    """Whether the retriever is one of ours, which calls no server when the embeddings are embedded."""
    from quorum.retrievers.langchain_retrievers import BM25Retriever, ChromaRetriever, HybridRetriever

    return isinstance(retriever.inner, BM25Retriever | ChromaRetriever | HybridRetriever)


def load_encoder() -> None:
    """Load the embedded encoder, and run it once."""
    from quorum.models.embedded.encoder import get_encoder

    get_encoder().embed([WARM_UP_QUERY])
