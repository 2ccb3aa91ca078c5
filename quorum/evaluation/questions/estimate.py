"""Estimates what writing questions takes, before anything is paid for: calls, tokens, dollars, time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quorum.core.context import Context
from quorum.core.state import Passage
from quorum.evaluation.compare.estimate import estimate_seconds
from quorum.evaluation.metrics.prices import Prices
from quorum.evaluation.questions.check import get_verifier
from quorum.evaluation.questions.draw import Kind
from quorum.models.token_estimate import estimate_tokens
from quorum.prompts import BUILT_IN
from quorum.prompts.prompt import REPLY_TOKENS

QUESTION_TOKENS = 60  # tokens assumed for a reply with a question and its answer
CHECK_CALLS = {
    "single": 2,
    "two": 4,
    "unanswerable": 2,
}  # kind of question -> calls that check a draft that is kept (see `QuestionChecker`)


@dataclass(frozen=True)
class Estimate:
    """The estimate if every draft is kept. most_calls: the calls if all allowed drafts are needed.

    questions: how many are to be written; calls, tokens: totals; cost: dollars, None if a model has no price; seconds:
    expected.
    """

    questions: int
    calls: int
    most_calls: int
    tokens: float
    cost: float | None
    seconds: float


def estimate(
    missing_counts: Mapping[Kind, int],
    most_drafts: int,
    passages: Sequence[Passage],
    context: Context,
    prices: Prices,
    concurrency: int,
) -> Estimate:
    """Estimate what the missing questions of each kind take, from the prompts and the passages' mean length.

    most_drafts: how many drafts are allowed for each question.
    """
    questions = sum(missing_counts.values())
    check_calls = sum(count * CHECK_CALLS[kind] for kind, count in missing_counts.items())
    mean_tokens = sum(estimate_tokens(passage["text"]) for passage in passages) / len(passages)
    writer_tokens = sum(
        count * (estimate_tokens(BUILT_IN[f"question_{kind}"]) + mean_tokens * (2 if kind == "two" else 1))
        for kind, count in missing_counts.items()
    )
    verifier_tokens = sum(
        count * count_verifier_tokens(kind, mean_tokens, context.k) for kind, count in missing_counts.items()
    )
    price, verifier_price = prices.find_price(context.model), prices.find_price(get_verifier(context))
    cost = (
        None
        if price is None or verifier_price is None
        else price.compute_cost(writer_tokens, questions * QUESTION_TOKENS)
        + verifier_price.compute_cost(verifier_tokens, check_calls * REPLY_TOKENS["short"])
    )
    calls, total_tokens = (
        questions + check_calls,
        writer_tokens + verifier_tokens + questions * QUESTION_TOKENS + check_calls * REPLY_TOKENS["short"],
    )
    return Estimate(
        questions,
        calls,
        most_drafts * calls,
        total_tokens,
        cost,
        estimate_seconds(context, calls, total_tokens, concurrency),
    )


def count_verifier_tokens(kind: Kind, mean_tokens: float, k: int) -> float:
    """The tokens that the verifier reads to check one draft that is kept.

    mean_tokens: the mean number of tokens of a passage; k: how many passages are retrieved for an unanswerable
    question.
    """
    answer_prompt_tokens, closed_book_prompt_tokens = (
        estimate_tokens(BUILT_IN["answer"]),
        estimate_tokens(BUILT_IN["answer_base_closed"]),
    )
    if kind == "unanswerable":
        return 2 * answer_prompt_tokens + (1 + k) * mean_tokens
    return (
        answer_prompt_tokens + mean_tokens + closed_book_prompt_tokens
        if kind == "single"
        else 3 * answer_prompt_tokens + 4 * mean_tokens + closed_book_prompt_tokens
    )
