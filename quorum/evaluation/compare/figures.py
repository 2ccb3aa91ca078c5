"""The figures of a comparison: every method's quality, its cost per question, and its calibration."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from quorum.evaluation.compare.recommend import Figures
from quorum.evaluation.metrics.statistics import bootstrap, percentile
from quorum.evaluation.metrics.uncertainty import Calibration, compute_calibration
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.details import LineIndex
from quorum.evaluation.run.results import ColumnScores
from quorum.evaluation.run.score import Scores


def shared_questions(scores: Mapping[str, ColumnScores]) -> list[str]:
    """The questions that were answered by every method, not counting methods that answered none."""
    sets = [set(one.ids) for one in scores.values() if one.ids]
    return sorted(set.intersection(*sets)) if sets else []


def figures_of(name: str, scores: ColumnScores, measure: str, cost: float | None, common: Sequence[str]) -> Figures:
    """One method in numbers: quality over the questions that all methods answered, costs over all that it answered."""
    ids = [id_ for id_ in common if scores.ids]
    values = scores.of(measure, ids)
    values = values[~np.isnan(values)]
    mean, low, high = bootstrap(values) if len(values) else (0.0, 0.0, 0.0)
    calls, read, written = (average(scores, unit) for unit in ("calls", "input_tokens", "output_tokens"))
    seconds = scores.known("seconds")
    return Figures(
        name=name,
        n=len(values),
        errors=len(scores.failed),
        quality=mean,
        low=low,
        high=high,
        calls=calls,
        tokens=read + written,
        cost=cost,
        seconds=percentile(seconds, 0.95) if len(seconds) else 0.0,
    )


def average(scores: ColumnScores, name: str) -> float:
    known = scores.known(name)
    return float(known.mean()) if len(known) else 0.0


def mean_costs(scores: Scores) -> dict[str, float | None]:
    """Mean dollars for a question by column, from the usage in details.jsonl; None if a price is missing."""
    means: dict[str, float | None] = {}
    with LineIndex(scores.folder / "details.jsonl") as details:
        for column in scores.plan.columns:
            costs = list(costs_of(column, scores.by_column[column.name].ids, details))
            known = [one for one in costs if one is not None]
            means[column.name] = sum(known) / len(known) if known and len(known) == len(costs) else None
    return means


def costs_of(column: Column, ids: Sequence[str], details: LineIndex) -> Iterator[float | None]:
    """Dollars for each of these questions that has details."""
    for id_ in ids:
        detail = details.get(column.name, id_)
        if detail is not None:
            yield column.cost_of(detail["usage"])


def calibrate(scores: ColumnScores, measure: str) -> Calibration | None:
    """How well a column's confidence predicts right answers, over the answers that it gave."""
    sure, right, unknown = (np.array(scores.values[one]) for one in ("confidence", measure, "unknown"))
    said = unknown == 0
    return compute_calibration(sure[said], right[said], of=len(scores.ids))
