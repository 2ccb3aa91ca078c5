"""Checks what a question's settings name before anything is indexed or loaded for it."""

import asyncio

from quorum.core.context import Context
from quorum.models.check_models import check_models
from quorum.models.model_spec import read_spec
from quorum.retrievers.embedder import get_embedder
from quorum.retrievers.registry import find_retriever


async def check_settings(context: Context, *, searches: bool = True) -> None:
    """Raises `SetupError` for a model, embeddings or a retriever of the context that does not exist or cannot be used.
    No server is asked, and no collection is opened. searches: whether passages are retrieved; if not, the retriever
    does not matter.
    """
    if searches:
        check_retrievers(context)
    await check_models(context)
    await asyncio.to_thread(check_embeddings, context)


def check_retrievers(context: Context) -> None:
    """Raises `SetupError` for a retriever that does not exist."""
    for name in (context.retriever, context.second_retriever):
        if isinstance(name, str):
            find_retriever(name)


def check_embeddings(context: Context) -> None:
    """Raises `SetupError` if the context's embeddings cannot be used. The embedded model, which always can, is not
    loaded. Blocks while it imports a provider's package.
    """
    spec = context.embeddings
    if isinstance(spec, str) and read_spec(spec, "embeddings").provider != "embedded":
        get_embedder(spec, context.embedding_batch)
