"""Draws conclusions from the scores: figures of every column, the recommendation, how far to trust confidence."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from quorum.algorithms.cross_fit import compute_cross_fitted_score
from quorum.core.errors import SetupError
from quorum.evaluation.compare.estimate import Estimate
from quorum.evaluation.compare.figures import calibrate, figures_of, mean_costs, shared_questions
from quorum.evaluation.compare.recommend import (
    Figures,
    Recommendation,
    describe_baseline,
    format_percent,
    format_points,
    recommend,
    to_json,
)
from quorum.evaluation.compare.spending_limit import TotalSpent
from quorum.evaluation.decisions.compose import Guarantee, compose
from quorum.evaluation.decisions.recorded_results import read_results
from quorum.evaluation.metrics.uncertainty import Calibration
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.results import ColumnScores, write_json
from quorum.evaluation.run.score import Scores

FEWEST_QUESTIONS = 20  # whose halves can choose anything


@dataclass(frozen=True)
class Decision:
    """Everything that a report shows. spent: the actual spending in this folder, over all runs."""

    scores: Scores
    figures: list[Figures]
    recommendation: Recommendation
    spent: TotalSpent
    calibrations: dict[str, Calibration]

    @property
    def measure(self) -> str:
        """The measure that decided."""
        return self.recommendation.measure

    @property
    def columns(self) -> Sequence[Column]:
        """What was compared."""
        return self.scores.plan.columns

    @property
    def estimate(self) -> Estimate | None:
        """What the comparison was expected to take."""
        return self.scores.plan.estimate

    @property
    def left_out(self) -> Mapping[str, str]:
        """Why columns of 'all' are not compared, by name."""
        return self.scores.plan.left_out


def cross_fit(
    by_column: Mapping[str, ColumnScores], measure: str, names: Sequence[str], common: Sequence[str]
) -> float | None:
    """The best column's score on questions that did not choose it; None with one column, or too few questions."""
    if len(names) < 2 or len(common) < FEWEST_QUESTIONS:
        return None
    values = np.array([by_column[name].of(measure, common) for name in names]).T
    values = values[~np.isnan(values).any(axis=1)]
    return round(compute_cross_fitted_score(values), 6) if len(values) >= FEWEST_QUESTIONS else None


def cross_fit_words(best: float, fair: float) -> str:
    """The sentence that states the cross-fitted score beside the score that chose the column."""
    return (
        f"Chosen on one half of the questions and scored on the other, the best method has {format_percent(fair)} "
        f"({format_points(fair - best)}): the figure to expect on new questions."
    )


def compose_words(scores: Scores) -> list[str]:
    """What `quorum compose` would save, if a cascade can be certified; else nothing."""
    try:
        made = compose(read_results(scores.folder), Guarantee())
    except SetupError:
        return []
    if made.certificate is None:
        return []
    asked = " -> ".join(stage.method for stage in made.cascade)
    return [
        f"A cascade ({asked}) would take {format_percent(made.saved, 0)} fewer tokens than {made.best} and lose 3 "
        f"points at most, with confidence 0.9: quorum compose {scores.folder}"
    ]


def decide(scores: Scores, spent: TotalSpent) -> Decision:
    """Make the decision; writes recommendation.json and, if a column states a confidence, uncertainty.json."""
    measure, by_column = scores.measures[0], scores.by_column
    costs = mean_costs(scores)
    common = shared_questions(by_column)
    figures = [figures_of(name, one, measure, costs[name], common) for name, one in by_column.items()]
    recommendation = recommend(figures, by_column, measure, scores.plan.options.budget)
    recommendation.sentences[1:1] = describe_baseline(recommendation, scores.comparisons)
    fair = cross_fit(by_column, measure, [one.name for one in figures if one.n], common)
    best = max((one.quality for one in figures if one.n), default=0.0)
    added = [] if fair is None else [cross_fit_words(best, fair)]
    place = len(recommendation.sentences) - any(one.errors for one in figures)  # failures come last
    recommendation.sentences[place:place] = [*added, *compose_words(scores)]
    write_json(scores.folder / "recommendation.json", {**to_json(recommendation), "cross_fitted": fair})
    found = {name: calibrate(one, measure) for name, one in by_column.items()}
    calibrations = {name: one for name, one in found.items() if one is not None}
    if calibrations:
        write_json(scores.folder / "uncertainty.json", {name: asdict(one) for name, one in calibrations.items()})
    return Decision(scores, figures, recommendation, spent, calibrations)
