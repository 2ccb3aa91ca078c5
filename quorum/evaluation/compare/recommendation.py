"""The types of a recommendation: the figures of each method, the recommended methods, and the reasons."""

from dataclasses import dataclass, field

from quorum.evaluation.compare.baseline import Comparison
from quorum.evaluation.compare.wrong_cost import ChoiceAtWrongCosts, name_measure
from quorum.evaluation.metrics.measure_titles import MEASURE_NAMES

ALPHA = 0.05
COST_UNIT_NAMES = {"calls": "calls", "tokens": "tokens", "cost": "dollars", "seconds": "seconds (95th percentile)"}


@dataclass(frozen=True)
class MethodFigures:
    """One method in numbers. quality: the mean of the deciding measure in 0..1, with its interval; with a cost of wrong
    answers, the mean worth in -cost..1. Per question, for the method alone: calls, tokens (in and out), dollars (None:
    no price), seconds (95th percentile).

    n: how many questions count for quality: those that all methods answered; for a method that a race dropped, those
    that it answered itself. errors: questions on which this method failed; right, wrong, unknown: how the answers to
    the n questions divide, in shares.
    """

    name: str
    n: int
    errors: int
    quality: float
    low: float
    high: float
    calls: float
    tokens: float
    cost: float | None
    seconds: float
    right: float = 0.0
    wrong: float = 0.0
    unknown: float = 0.0

    def get_cost(self, unit: str) -> float | None:
        """The method's cost in a unit of the budget; None if its models have no price."""
        value: float | None = getattr(self, unit)
        return value


@dataclass(frozen=True)
class Recommendation:
    """Which method to use, and why.

    measure: the deciding measure; best: the method with the highest mean within the budget, None if no method that
    answered is within it, or if a race has not ended and more than one method is left; equal_methods: methods within
    the budget that do not differ significantly from the best (p_holm >= 0.05), cheapest first; without a best, those
    that are left in the race; cheapest: the cheapest of `best` and `equal_methods`, None without a best; pareto_front:
    from the cheapest to the best; unit: the unit of cost for `cheapest` and `pareto_front`, "cost" (dollars) or
    "tokens"; comparison: of the methods with the best; sentences: the recommendation in words, the most important
    first. wrong_cost: what a wrong answer costs, where a right one is worth 1; choices_at_wrong_costs: the
    recommendations at other costs of a wrong answer.
    """

    measure: str
    budget: dict[str, float]
    best: str | None
    equal_methods: list[str]
    cheapest: str | None
    pareto_front: list[str]
    unit: str
    comparison: Comparison | None
    sentences: list[str] = field(default_factory=list)
    wrong_cost: float = 0.0
    choices_at_wrong_costs: tuple[ChoiceAtWrongCosts, ...] = ()

    @property
    def measure_name(self) -> str:
        """The deciding measure in words."""
        return name_measure(MEASURE_NAMES, self.measure, self.wrong_cost)


def get_cost_or_zero(method: MethodFigures, unit: str) -> float:
    """The method's cost in a unit of the budget; 0 if its models have no price."""
    return method.get_cost(unit) or 0.0
