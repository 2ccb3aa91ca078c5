"""The types of a recommendation: the figures of each method, the recommended methods, and the reasons."""

from dataclasses import dataclass, field

from quorum.algorithms.recommend import MARGIN, Choice
from quorum.evaluation.compare.wrong_cost import ALWAYS_UNKNOWN, ChoiceAtWrongCosts, name_measure
from quorum.evaluation.metrics.measure_titles import MEASURE_NAMES
from quorum.evaluation.run.differences import Comparison

COST_UNIT_NAMES = {"calls": "calls", "tokens": "tokens", "cost": "dollars", "seconds": "seconds (95th percentile)"}


@dataclass(frozen=True)
class MethodFigures:
    """One method in numbers.

    name: the method with its settings. quality: the mean of the deciding measure, in 0..1; with a cost of wrong
    answers, the mean worth, in -cost..1. low, high: the interval of the quality. n: how many questions count for the
    quality: those that all methods answered; for a method that a race dropped, those that it answered itself. errors:
    how many questions the method failed on. right, wrong, unknown: the shares of the answers to the n questions that
    are right, wrong and "unknown".

    The costs are per question, as if this method alone were run: calls; tokens (input and output); cost: dollars, None
    without a price; seconds: the 95th percentile; median_seconds: of the answers that this run timed, None if all used
    stored replies.
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
    median_seconds: float | None = None

    def get_cost(self, unit: str) -> float | None:
        """The method's cost per question. unit: one of COST_UNIT_NAMES. None for "cost" (dollars) without a price."""
        value: float | None = getattr(self, unit)
        return value


@dataclass(frozen=True)
class Verdict:
    """What every view says first (see `quorum.evaluation.compare.verdict`).

    headline: at most 15 words, without brackets; use, cost, rest: a sentence each: what to use, what it costs, and what
    would settle the question.
    """

    headline: str
    use: str
    cost: str
    rest: str

    @property
    def sentences(self) -> list[str]:
        """The three sentences below the headline."""
        return [self.use, self.cost, self.rest]


@dataclass(frozen=True)
class Recommendation:
    """Which method to use, and why.

    measure: the deciding measure. budget: {unit: limit per question}; a unit is one of COST_UNIT_NAMES. best: of the
    methods within the budget, the one with the highest quality; None if no method that answered is within the budget,
    or if a race has not ended and more than one method is left. equal_methods: the other methods within the budget that
    may be the best (see `quorum.algorithms.best_set`), cheapest first; if an unfinished race leaves no best, the
    methods within the budget that are still in the race. cheapest: the recommended method, the cheapest of those that
    may be the best and are within `margin` of the highest quality; None without a best, or if answering "unknown"
    always is recommended. pareto_front: the methods on the Pareto front of quality and cost, also those over the
    budget, from the cheapest to the one with the highest quality. unit: the unit of cost for `cheapest` and
    `pareto_front`, "cost" (dollars) or "tokens". comparison: the comparison of the methods with the best; None without
    a best. verdict: the recommendation in a headline and three sentences; sentences: in more detail, the most important
    sentence first. wrong_cost: how many right
    answers a wrong answer costs. choices_at_wrong_costs: the recommendations at other costs of a wrong answer. margin:
    how far below the highest quality the recommended method may be. choice: what the rule of recommendation said
    (`quorum.algorithms.recommend`); None without a best. by_wording: the methods that are not among the best for exact
    match, but may be for `contains`.
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
    margin: float = MARGIN
    choice: Choice | None = None
    by_wording: tuple[str, ...] = ()
    verdict: Verdict = Verdict("", "", "", "")

    @property
    def is_certain(self) -> bool:
        """Whether the recommended method is the only one that may be the best."""
        return self.choice is not None and self.choice.is_certain

    @property
    def recommends_unknown(self) -> bool:
        """Whether answering "unknown" always is recommended, because wrong answers cost more than right ones bring."""
        return self.choice is not None and self.choice.recommended == ALWAYS_UNKNOWN

    @property
    def measure_name(self) -> str:
        """The deciding measure in words."""
        return name_measure(MEASURE_NAMES, self.measure, self.wrong_cost)


def get_cost_or_zero(method: MethodFigures, unit: str) -> float:
    """The method's cost per question. unit: one of COST_UNIT_NAMES. 0 for "cost" (dollars) without a price."""
    return method.get_cost(unit) or 0.0
