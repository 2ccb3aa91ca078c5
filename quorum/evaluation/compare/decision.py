"""What a comparison comes to: the figures of every method, the recommendation, and what it took."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quorum.evaluation.compare.estimate import Estimate
from quorum.evaluation.compare.recommend import Figures, Recommendation
from quorum.evaluation.compare.spending_limit import Spent
from quorum.evaluation.metrics.uncertainty import Calibration
from quorum.evaluation.run.columns import MethodRun
from quorum.evaluation.run.evaluate import Report


@dataclass(frozen=True)
class Decision:
    """All that a report is made of. left_out: why methods of 'all' are not in it, by name."""

    report: Report
    runs: Sequence[MethodRun]
    estimate: Estimate
    figures: list[Figures]
    recommendation: Recommendation
    spent: Spent
    calibrations: dict[str, Calibration]
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def measure(self) -> str:
        return self.recommendation.measure
