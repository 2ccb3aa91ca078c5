"""Makes the decision from the scores: figures of every column, the recommendation, calibrations of confidence."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from quorum.algorithms.cross_fit import compute_cross_fitted_score
from quorum.core.errors import SetupError
from quorum.evaluation.compare.describe_race import describe_open_race, describe_race
from quorum.evaluation.compare.describe_recommendation import describe_baseline
from quorum.evaluation.compare.estimate import Estimate
from quorum.evaluation.compare.figures import (
    calibrate_column,
    compute_figures,
    compute_mean_costs,
    find_shared_questions,
)
from quorum.evaluation.compare.format_figures import format_percent, format_points
from quorum.evaluation.compare.recommend import convert_recommendation_to_json, is_within_budget, recommend_method
from quorum.evaluation.compare.recommendation import MethodFigures, Recommendation, get_cost_or_zero
from quorum.evaluation.compare.spending_limit import TotalSpent
from quorum.evaluation.compare.verdict import write_name
from quorum.evaluation.compare.wrong_cost import choose_at_wrong_costs, describe_choices
from quorum.evaluation.decisions.compose import Guarantee, compose
from quorum.evaluation.decisions.recorded_results import read_results
from quorum.evaluation.metrics.registry import WORTH_MEASURE
from quorum.evaluation.metrics.uncertainty import Calibration
from quorum.evaluation.run.baseline import compare_within_groups
from quorum.evaluation.run.column_collections import describe_indexes
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.result_files import write_json
from quorum.evaluation.run.score import Scores
from quorum.evaluation.run.screening import Screening

FEWEST_QUESTIONS_TO_CROSS_FIT = 20  # with fewer, half of the questions are too few to choose a method


@dataclass(frozen=True)
class Decision:
    """Everything that a report shows. spent: the actual spending of all runs in this folder of results;
    estimate: what the comparison was expected to take, None if that was not estimated.
    """

    scores: Scores
    figures: list[MethodFigures]
    recommendation: Recommendation
    spent: TotalSpent
    calibrations: dict[str, Calibration]
    estimate: Estimate | None = None

    @property
    def measure(self) -> str:
        """The measure of how right an answer is. With a cost of wrong answers, the recommendation follows the worth."""
        return self.scores.measures[0]

    @property
    def columns(self) -> Sequence[Column]:
        """The compared columns."""
        return self.scores.plan.columns

    @property
    def left_out_reasons(self) -> Mapping[str, str]:
        """Why methods of `--methods all` are not compared, by method."""
        return self.scores.plan.left_out_reasons


def cross_fit(
    scores_by_column: Mapping[str, ColumnScores], measure: str, names: Sequence[str], shared_ids: Sequence[str]
) -> float | None:
    """The score of the best of the columns `names` when it is chosen on one half of the questions and scored on the
    other (see `quorum.algorithms.cross_fit`); None with one column or too few questions.
    """
    if len(names) < 2 or len(shared_ids) < FEWEST_QUESTIONS_TO_CROSS_FIT:
        return None
    values = np.array([scores_by_column[name].get_values(measure, shared_ids) for name in names]).T
    values = values[~np.isnan(values).any(axis=1)]
    return round(compute_cross_fitted_score(values), 6) if len(values) >= FEWEST_QUESTIONS_TO_CROSS_FIT else None


def describe_cross_fit(best_score: float, cross_fitted_score: float) -> str:
    """The sentence that states the cross-fitted score, and how far it is from `best_score`, the best column's score on
    all questions.
    """
    return (
        "Chosen on one half of the questions and scored on the other, the best method has "
        f"{format_percent(cross_fitted_score)}, the figure to expect on new questions "
        f"({format_points(cross_fitted_score - best_score)} compared with its score on all questions)."
    )


def describe_cascade(folder: Path, wrong_cost: float, margin: float) -> list[str]:
    """A list with one sentence about what `quorum compose` would save; empty if no cascade can be certified."""
    try:
        composition = compose(read_results(folder), Guarantee(wrong_cost=wrong_cost, margin=margin))
    except SetupError:
        return []
    if composition.certificate is None:
        return []
    stages = " -> ".join(stage.method for stage in composition.cascade)
    return [
        f"A cascade ({stages}) would take {format_percent(composition.saved_share, 0)} fewer tokens than "
        f"{composition.best} and lose 3 points at most, with confidence 0.9: quorum compose {folder}"
    ]


def decide(scores: Scores, spent: TotalSpent, estimate: Estimate | None = None) -> Decision:
    """Make the decision; writes recommendation.json and, if a column states a confidence, uncertainty.json."""
    # right_measure: how right an answer is; measure: what the columns are compared by, which is the worth if a wrong
    # answer has a cost.
    right_measure, scores_by_column = scores.measures[0], scores.scores_by_column
    race, options = scores.race, scores.plan.options
    measure, comparisons = right_measure, scores.comparisons
    if options.wrong_cost:
        measure = WORTH_MEASURE
        for column_scores in scores_by_column.values():
            column_scores.add_worth(right_measure, options.wrong_cost)
        comparisons = compare_within_groups(scores_by_column, scores.plan.groups, options.baseline, race)
    costs = compute_mean_costs(scores.folder, scores.plan.columns, scores_by_column)
    shared_ids = find_shared_questions(scores_by_column, race)
    figures = [
        compute_figures(name, column_scores, measure, costs[name], shared_ids, race, right_measure)
        for name, column_scores in scores_by_column.items()
    ]
    recommendation = recommend_method(
        figures, scores_by_column, measure, options.budget, race, options.wrong_cost, options.margin
    )
    compared_figures = [figure for figure in figures if figure.n and (race is None or not race.is_dropped(figure.name))]
    costs_within_budget = {
        figure.name: get_cost_or_zero(figure, recommendation.unit)
        for figure in compared_figures
        if is_within_budget(figure, options.budget)
    }
    answers = not options.retrieval_only
    choices = (
        choose_at_wrong_costs(scores_by_column, right_measure, costs_within_budget, shared_ids, options.margin)
        if answers and recommendation.best is not None and len(costs_within_budget) > 1
        else []
    )
    recommendation = replace(recommendation, choices_at_wrong_costs=tuple(choices))
    # The first sentence is the recommendation itself, unless an open race makes none.
    wording_notes = [note] if (note := scores.wording_note) else []
    place = 0 if recommendation.best is None else 1
    recommendation.sentences[place:place] = [*wording_notes, *describe_baseline(recommendation, comparisons)]
    if race is not None:
        headline = [] if race.is_finished else [describe_open_race(race, options.max_cost)]
        place = 0 if headline else 1
        recommendation.sentences[place:place] = [*headline, *describe_race(race, recommendation.best)]
    if (screening := scores.plan.screening) is not None:
        recommendation.sentences[1:1] = screening.describe()
        recommendation = limit_verdict_to_raced(recommendation, screening)
        write_json(scores.folder / "screen.json", screening.to_json())
    cross_fitted_score = None
    if race is None or race.is_finished:
        compared_names = [figure.name for figure in compared_figures]
        cross_fitted_score = cross_fit(scores_by_column, measure, compared_names, shared_ids)
    best_score = max((figure.quality for figure in compared_figures), default=0.0)
    added_sentences = [] if cross_fitted_score is None else [describe_cross_fit(best_score, cross_fitted_score)]
    added_sentences += [sentence] if (sentence := describe_choices(choices)) else []
    added_sentences += describe_indexes(scores.plan.columns, scores.plan.source.indexes)
    # The sentence about failed answers stays the last one.
    place = len(recommendation.sentences) - any(figure.errors for figure in figures)
    recommendation.sentences[place:place] = [
        *added_sentences,
        *(describe_cascade(scores.folder, options.wrong_cost, options.margin) if answers else ()),
    ]
    race_json = {} if race is None else {"race": race.to_json()}
    race_json |= {} if screening is None else {"screen": screening.to_json()}
    write_json(
        scores.folder / "recommendation.json",
        {**convert_recommendation_to_json(recommendation), "cross_fitted": cross_fitted_score, **race_json},
    )
    return Decision(
        scores,
        figures,
        recommendation,
        spent,
        write_calibrations(scores.folder, scores_by_column, right_measure),
        estimate,
    )


def limit_verdict_to_raced(recommendation: Recommendation, screening: Screening) -> Recommendation:
    """The recommendation with a verdict that speaks only of the methods that the screen let into the race."""
    verdict, choice = recommendation.verdict, recommendation.choice
    if not screening.dropped_methods:
        return recommendation
    raced = screening.method_count - len(screening.dropped_methods)
    if raced == 1 and choice is not None:
        headline = f"{write_name(choice.recommended)} is the only method that the screen kept."
        rest = "A race of more methods, with a higher --screen, would show whether one of them is better."
        return replace(recommendation, verdict=replace(verdict, headline=headline, rest=rest))
    left_out = f"the screen, a heuristic, left out {len(screening.dropped_methods)}"
    rest = f"{verdict.rest} This speaks of the {raced} methods raced: {left_out}."
    return replace(recommendation, verdict=replace(verdict, rest=rest))


def write_calibrations(
    folder: Path, scores_by_column: Mapping[str, ColumnScores], measure: str
) -> dict[str, Calibration]:
    """Write uncertainty.json if the answers of a column state a confidence. Returns, for each such column, how well the
    confidence predicts right answers.
    """
    calibrations_found = {
        name: calibrate_column(column_scores, measure) for name, column_scores in scores_by_column.items()
    }
    calibrations = {name: calibration for name, calibration in calibrations_found.items() if calibration is not None}
    if calibrations:
        write_json(
            folder / "uncertainty.json",
            {name: asdict(calibration) for name, calibration in calibrations.items()},
        )
    return calibrations
