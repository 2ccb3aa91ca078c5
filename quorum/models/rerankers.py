"""Rerankers that score pairs of a question and a passage, each passage for itself."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage, Usage

RERANK_USAGE = "rerank"  # the name under which a result counts the work of such a reranker
POINTWISE_RERANKERS = ("question", "reader")  # the place of a passage among others depends on its own text only


@dataclass(frozen=True)
class PairScores:
    """scores: one for each passage, higher is better; usage: what it took."""

    scores: list[float | None]
    usage: Usage


class PairScorer(Protocol):
    """Scores each passage with the question."""

    async def score(self, question: str, passages: Sequence[Passage]) -> PairScores: ...


class ReaderScorer:
    """The embedded reader's log-odds that a passage answers the question: those of the best span that it finds in it.

    A method that reads the same passages with the embedded reader afterwards does not read them again.
    """

    async def score(self, question: str, passages: Sequence[Passage]) -> PairScores:
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
        return PairScores(scores, Usage(calls=1, input_tokens=tokens, output_tokens=0, cached_tokens=0))


def get_pair_scorer(spec: str) -> PairScorer:
    """The scorer that the setting reranker names."""
    if spec == "reader":
        return ReaderScorer()
    raise SetupError(f"reranker={spec!r} scores no pairs; choose reader.")


def get_reranking_model(context: Context) -> str | None:
    """The model whose price the work of the context's reranker has: the embedded model for `reader`."""
    return "embedded" if context.reranker == "reader" else None
