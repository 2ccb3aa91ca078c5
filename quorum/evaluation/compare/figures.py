"""The figures of a comparison: every method's quality, its cost per question, and its calibration."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from quorum.evaluation.compare.recommendation import MethodFigures
from quorum.evaluation.compare.wrong_cost import compute_shares
from quorum.evaluation.metrics.registry import WORTH_MEASURE
from quorum.evaluation.metrics.statistics import Interval, compute_quantile
from quorum.evaluation.metrics.uncertainty import Calibration, compute_calibration
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.details import LineIndex
from quorum.evaluation.run.race_result import RaceResult
from quorum.evaluation.run.tasks import RETRIEVAL_TASKS


def find_shared_questions(scores: Mapping[str, ColumnScores], race: RaceResult | None = None) -> list[str]:
    """The questions that every method answered. Dropped methods, and methods that answered no question, are ignored."""
    counted_scores = [
        column_scores for name, column_scores in scores.items() if race is None or not race.is_dropped(name)
    ]
    sets = [set(column_scores.ids) for column_scores in counted_scores if column_scores.ids]
    return sorted(set.intersection(*sets)) if sets else []


def compute_figures(
    name: str,
    scores: ColumnScores,
    measure: str,
    cost: float | None,
    shared_ids: Sequence[str],
    race: RaceResult | None = None,
    right_measure: str | None = None,
) -> MethodFigures:
    """One method in numbers: quality over the questions that all methods answered, costs over all
    questions that the method answered.

    The quality of a dropped method is its mean over the questions that it answered. The interval of a dropped method,
    and of every method if the race has not ended, is one that holds at every moment of the race.

    measure: the measure of quality. cost: the method's mean dollars per question; None if a price is missing.
    shared_ids: the questions that all methods answered (`find_shared_questions`). right_measure: the measure that tells
    right answers from wrong ones, by default `measure`.
    """
    is_dropped = race is not None and race.is_dropped(name)
    # Empty for a method that answered no question.
    ids = [id_ for id_ in (scores.ids if is_dropped else shared_ids) if scores.ids]
    question_count = int((~np.isnan(scores.get_values(measure, ids))).sum())
    mean, low, high = scores.compute_interval(measure, ids) or Interval(0.0, 0.0, 0.0)
    if race is not None and (is_dropped or not race.is_finished):
        low, high = find_anytime_interval(name, scores, measure, race)
    shares = compute_shares(scores, right_measure or measure, ids)
    calls, input_tokens, output_tokens = (
        compute_mean_of_known(scores, unit) for unit in ("calls", "input_tokens", "output_tokens")
    )
    tokens = input_tokens + output_tokens
    if scores.tasks & set(RETRIEVAL_TASKS):  # what a method would have to read
        tokens = compute_mean_of_known(scores, "context_tokens")
    own_seconds = scores.get_seconds_without_reused_calls()
    seconds = own_seconds if len(own_seconds) else scores.get_known_values("seconds")
    return MethodFigures(
        name=name,
        n=question_count,
        errors=len(scores.error_messages),
        quality=mean,
        low=low,
        high=high,
        calls=calls,
        tokens=tokens,
        cost=cost,
        seconds=compute_quantile(seconds, 0.95) if len(seconds) else 0.0,
        right=shares.right,
        wrong=shares.wrong,
        unknown=shares.unknown,
        median_seconds=compute_quantile(own_seconds, 0.5) if len(own_seconds) else None,
    )


def find_anytime_interval(name: str, scores: ColumnScores, measure: str, race: RaceResult) -> tuple[float, float]:
    """The interval of a column's mean that holds at every moment of the race."""
    standing = race.standings[name]
    if measure != WORTH_MEASURE:
        return standing.low, standing.high
    worth_range = 1 + scores.wrong_cost  # the worth is between -wrong_cost and 1
    worth = dict(zip(scores.ids, scores.values[WORTH_MEASURE], strict=True))
    # `compute_anytime_interval` takes values between -1 and 1.
    rescaled_worth = {id_: 2 * (value - 1) / worth_range + 1 for id_, value in worth.items() if not np.isnan(value)}
    low, high = race.compute_anytime_interval(rescaled_worth, standing.asked_count)
    return 1 + worth_range * (low - 1) / 2, 1 + worth_range * (high - 1) / 2


def compute_mean_of_known(scores: ColumnScores, measure: str) -> float:
    """The mean of a measure over the questions that have it; 0 if none has it."""
    known_values = scores.get_known_values(measure)
    return float(known_values.mean()) if len(known_values) else 0.0


def compute_mean_costs(
    folder: Path, columns: Sequence[Column], scores_by_column: Mapping[str, ColumnScores]
) -> dict[str, float | None]:
    """Each column's mean dollars per question, from the usage in details.jsonl; None if a price is missing, or if no
    question has details. folder: that of the results.
    """
    means: dict[str, float | None] = {}
    with LineIndex(folder / "details.jsonl") as details:
        for column in columns:
            costs = list(compute_costs(column, scores_by_column[column.name].ids, details))
            known_costs = [cost for cost in costs if cost is not None]
            means[column.name] = (
                sum(known_costs) / len(known_costs) if known_costs and len(known_costs) == len(costs) else None
            )
    return means


def compute_costs(column: Column, ids: Sequence[str], details: LineIndex) -> Iterator[float | None]:
    """The dollars for each question of `ids` that has details; None if the price of one of its calls is missing."""
    for id_ in ids:
        detail = details.get(column.name, id_)
        if detail is not None:
            yield column.compute_cost(detail["usage"])


def calibrate_column(scores: ColumnScores, measure: str) -> Calibration | None:
    """The calibration of a column: how well its confidence predicts right answers. Unknown answers are left out.
    None if no other answer has a confidence.
    """
    confidence, right, unknown = (np.array(scores.values[name]) for name in ("confidence", measure, "unknown"))
    is_answered = unknown == 0
    return compute_calibration(confidence[is_answered], right[is_answered], question_count=len(scores.ids))
