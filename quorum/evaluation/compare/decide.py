"""What follows from the scores: figures of every column, the recommendation, what confidence is worth."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from quorum.evaluation.compare.estimate import Estimate
from quorum.evaluation.compare.figures import calibrate, figures_of, mean_costs, shared_questions
from quorum.evaluation.compare.recommend import Figures, Recommendation, as_json, describe_baseline, recommend
from quorum.evaluation.compare.spending_limit import TotalSpent
from quorum.evaluation.metrics.uncertainty import Calibration
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.results import write_json
from quorum.evaluation.run.score import Scores


@dataclass(frozen=True)
class Decision:
    """All that a report is made of. spent: what was really spent in this folder, over all runs."""

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


def decide(scores: Scores, spent: TotalSpent) -> Decision:
    """The decision; writes recommendation.json and, where a column states a confidence, uncertainty.json."""
    measure, by_column = scores.measures[0], scores.by_column
    costs = mean_costs(scores)
    common = shared_questions(by_column)
    figures = [figures_of(name, one, measure, costs[name], common) for name, one in by_column.items()]
    recommendation = recommend(figures, by_column, measure, scores.plan.options.budget)
    recommendation.sentences[1:1] = describe_baseline(recommendation, scores.comparisons)
    write_json(scores.folder / "recommendation.json", as_json(recommendation))
    found = {name: calibrate(one, measure) for name, one in by_column.items()}
    calibrations = {name: one for name, one in found.items() if one is not None}
    if calibrations:
        write_json(scores.folder / "uncertainty.json", {name: asdict(one) for name, one in calibrations.items()})
    return Decision(scores, figures, recommendation, spent, calibrations)
