"""The evaluators of CRAG that score a text with the question: the embedded reader, or a cross-encoder."""

import asyncio
from collections.abc import Sequence

from quorum.core.context import Context
from quorum.core.errors import SetupError
from quorum.core.state import Passage
from quorum.models.rerankers import CROSS_ENCODER, score_by_cross_encoder, score_by_reader

# The embedded reader's log-odds that a passage answers the question. Chosen once, on six data sets together: of the
# questions whose best passage has 1 or more, 76% have the answer in their passages; of those below -2, 36%.
READER_LIMITS = (1.0, -2.0)  # upper, lower
PROMPT_LIMITS = (1.0, 0.0)  # Yes is 1, Partly 0, No -1
BY_PROMPT = "llm"


def get_limits(context: Context) -> tuple[float, float]:
    """(upper, lower): a passage from `upper` on is correct; if all are below `lower`, all are incorrect.

    Raises `SetupError` if a cross-encoder has no limits, whose scale is not known, or if lower is above upper.
    """
    known = {"embedded": READER_LIMITS, BY_PROMPT: PROMPT_LIMITS}.get(context.evaluator)
    upper = context.crag_upper if context.crag_upper is not None else known and known[0]
    lower = context.crag_lower if context.crag_lower is not None else known and known[1]
    if upper is None or lower is None:
        raise SetupError(
            f"The scale of the evaluator {context.evaluator} is not known; give crag_upper and crag_lower, the scores "
            "from which a passage is correct, and below which it is incorrect."
        )
    if lower > upper:
        raise SetupError(
            f"crag_lower={lower:g} is above crag_upper={upper:g}; give a crag_lower that is at most crag_upper."
        )
    return upper, lower


async def check_evaluator(context: Context) -> None:
    """Raise `SetupError` if the context's evaluator is a cross-encoder that lacks a package or a folder."""
    if context.evaluator.startswith(f"{CROSS_ENCODER}:"):
        from quorum.models.cross_encoders import get_cross_encoder

        await asyncio.to_thread(get_cross_encoder, context.evaluator.partition(":")[2])


async def score_texts(question: str, passages: Sequence[Passage], context: Context) -> list[float | None]:
    """The score of each passage with the question, on the evaluator's own scale. This work in our own process is not
    counted in the usage.
    """
    if context.evaluator.startswith(f"{CROSS_ENCODER}:"):
        scores, _ = await score_by_cross_encoder(context.evaluator.partition(":")[2], question, passages, context)
    else:
        scores, _ = await score_by_reader(question, passages)
    return scores
