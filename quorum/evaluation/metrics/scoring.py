"""All measures of one result, by the names under which results.jsonl and summary.json hold them."""

from collections.abc import Callable
from typing import Any

from quorum.core.state import Result
from quorum.evaluation.metrics import answers as metrics
from quorum.evaluation.metrics import passages as metrics_passages
from quorum.evaluation.metrics.answers import Reference

Scorer = Callable[[Result, Reference], float | bool | None]

SCORERS: dict[str, Scorer] = {
    "em": metrics.em,
    "f1": metrics.f1,
    "accuracy": metrics.accuracy,
    "rouge_l": metrics.rouge_l,
    "str_em": metrics.str_em,
    "unknown": metrics.unknown,
    "not_majority": metrics.not_majority,
    "gold_in_pool": metrics.gold_in_pool,
    "oracle": metrics.oracle,
    "overlap_own": metrics.overlap_own,
    "overlap_other": metrics.overlap_other,
    "recall": metrics_passages.recall,
    "precision": metrics_passages.precision,
    "s_precision": metrics_passages.s_precision,
    "recall_before": metrics_passages.recall_before,
    "precision_before": metrics_passages.precision_before,
    "s_precision_before": metrics_passages.s_precision_before,
    "hit_at_1": metrics_passages.hit_at_1,
    "mrr": metrics_passages.reciprocal_rank,
    "answer_in_passages": metrics_passages.answer_in_passages,
    "answer_on_top": metrics_passages.answer_on_top,
    "context_tokens": metrics_passages.context_tokens,
    "context_precision": metrics_passages.context_precision,
}
COMPARED = ("em", "f1", "accuracy", "rouge_l", "str_em", "judged")  # with intervals and tests
RIGHT_OR_WRONG = {"em", "accuracy", "judged"}
OVER_ALL = {"not_majority", "gold_in_pool"}  # a question without a vote counts as not lost


def score(result: Result, reference: Reference) -> dict[str, float | None]:
    """Every measure of one result; None where it has nothing to measure."""
    scores: dict[str, Any] = {name: scorer(result, reference) for name, scorer in SCORERS.items()}
    return {name: round(value, 9) if isinstance(value, float) else value for name, value in scores.items()}
