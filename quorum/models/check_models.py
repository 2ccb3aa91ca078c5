"""Checks, before a run, that the models which its settings name can be used. No server is asked."""

import asyncio

from quorum.core.context import Context, get_filter_model
from quorum.models.chat import chat_model_async
from quorum.models.context_filters import get_context_filter
from quorum.models.logprobs import make_scorer
from quorum.models.passage_grades import check_evaluator
from quorum.models.rerankers import check_reranker


async def check_models(context: Context) -> None:
    """Raises `SetupError` if the context's model, verifier, scorer, filter, reranker or evaluator cannot be used: an
    unknown provider, a missing package, key or folder.
    """
    await check_reranker(context)
    await check_evaluator(context)
    await chat_model_async(context.model, context)
    if context.verifier is not None:
        await chat_model_async(context.verifier, context)
    if context.scorer is not None:
        await asyncio.to_thread(make_scorer, context.scorer, context)
    if context.context_filter is not None:
        filter_model = get_filter_model(context)
        if filter_model is None:
            await asyncio.to_thread(get_context_filter, context.context_filter)
        else:
            await chat_model_async(filter_model, context)
