"""Rerankers that score pairs of a question and a passage in this process, each passage for itself."""

import asyncio
from collections.abc import Sequence

from quorum.core.context import Context
from quorum.core.state import Passage, Usage

RERANK_USAGE = "rerank"  # the name under which a result counts the work of such a reranker
API, CROSS_ENCODER = "api", "cross_encoder"  # api:MODEL, cross_encoder:MODEL


def is_pointwise(reranker: str) -> bool:
    """Whether the place of a passage among others depends on its own text and the question only. What a server does is
    not known: some rank the passages together.
    """
    return reranker in ("question", "reader") or reranker.startswith(f"{CROSS_ENCODER}:")


def is_server_reranker(reranker: str | None) -> bool:
    """Whether a server ranks the passages: api:MODEL."""
    return (reranker or "").startswith(f"{API}:")


def make_pair_text(passage: Passage) -> str:
    """What a cross-encoder reads of a passage: its title, if it has one, on a line of its own, and its text."""
    return f"{passage['title']}\n{passage['text']}" if passage["title"] else passage["text"]


async def score_by_reader(question: str, passages: Sequence[Passage]) -> tuple[list[float | None], Usage]:
    """The embedded reader's log-odds that each passage answers the question, those of the best span that it finds in
    it; and the tokens that it read.

    A method that reads the same passages with the embedded reader afterwards does not read them again.
    """
    from quorum.models.embedded.batching import WORKER, read_passages
    from quorum.models.embedded.encoder import get_encoder
    from quorum.models.embedded.reading import NO_ANSWER

    result = await read_passages(question, passages)
    scores: list[float | None] = [
        max((span.score for _, span in part.spans), default=NO_ANSWER) for part in result.parts
    ]
    texts = [text for passage in passages for text in (question, passage["text"])]
    tokens = await asyncio.get_running_loop().run_in_executor(
        WORKER, lambda: sum(map(get_encoder().count_tokens, texts))
    )
    return scores, Usage(calls=1, input_tokens=tokens, output_tokens=0, cached_tokens=0)


async def score_by_cross_encoder(
    name: str, question: str, passages: Sequence[Passage], context: Context
) -> tuple[list[float | None], Usage]:
    """The scores of a cross-encoder of Sentence Transformers, and its usage: one call, whose tokens are not counted."""
    from quorum.models.cross_encoders import score_pairs_with

    scores = await score_pairs_with(name, question, [make_pair_text(passage) for passage in passages], context)
    return scores, Usage(calls=1, input_tokens=0, output_tokens=0, cached_tokens=0)


async def check_reranker(context: Context) -> None:
    """Raise `SetupError` if the context's reranker lacks a package, a folder or its server's address."""
    reranker = context.reranker or ""
    if is_server_reranker(reranker):
        from quorum.models.chat import chat_model_async

        await chat_model_async(reranker, context)
    if reranker.startswith(f"{CROSS_ENCODER}:"):
        from quorum.models.cross_encoders import get_cross_encoder

        await asyncio.to_thread(get_cross_encoder, reranker.partition(":")[2])


def get_reranking_model(context: Context) -> str:
    """The model whose price the work of the context's reranker has; what runs in this process is free, like the
    embedded model.
    """
    return str(context.reranker) if is_server_reranker(context.reranker) else "embedded"
