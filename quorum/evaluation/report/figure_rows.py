"""What the figure of a comparison shows: a row for each method, sorted by quality."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from quorum.evaluation.compare.format_figures import format_dollars
from quorum.evaluation.compare.recommendation import MethodFigures, Recommendation, get_cost_or_zero
from quorum.evaluation.metrics.registry import WORTH_MEASURE

if TYPE_CHECKING:
    from quorum.evaluation.run.race_result import RaceResult

State = Literal["leader", "behind", "dropped", "over limit", "no answer"]
STATE_MEANINGS: dict[State, str] = {
    "leader": "may be the best",
    "behind": "not among the best",
    "dropped": "dropped by the race",
    "over limit": "over the limit",
    "no answer": "no answer",
}


@dataclass(frozen=True)
class FigureRow:
    """A method in the figure. quality, low, high: its mean and interval; cost: dollars or tokens of a question; tag:
    "best", "recommended", or empty.
    """

    name: str
    quality: float
    low: float
    high: float
    cost: float
    cost_text: str
    state: State
    tag: str = ""

    @property
    def description(self) -> str:
        """All figures of the row in words."""
        if self.state == "no answer":
            return f"{self.name}: no answer"
        score = f"{100 * self.quality:.1f}, between {100 * self.low:.1f} and {100 * self.high:.1f}"
        return f"{self.name}: {score}; {self.cost_text} a question; {self.tag or STATE_MEANINGS[self.state]}"


@dataclass(frozen=True)
class FigureContent:
    """What the figure shows. headline: its title; measure: the name of the quality; unit: that of the costs."""

    headline: str
    measure: str
    unit: str
    rows: tuple[FigureRow, ...]


def collect_figure(
    figures: Sequence[MethodFigures], recommendation: Recommendation, race: "RaceResult | None"
) -> FigureContent:
    """The content of the figure of a comparison. figures: of all methods; race: None without one."""
    rows = sort_figures(figures, race)
    measure = "worth" if recommendation.measure == WORTH_MEASURE else recommendation.measure_name
    return FigureContent(
        recommendation.verdict.headline,
        measure,
        "dollars" if recommendation.unit == "cost" else "tokens",
        tuple(make_figure_row(method, recommendation, race) for method in rows),
    )


def sort_figures(figures: Sequence[MethodFigures], race: "RaceResult | None") -> list[MethodFigures]:
    """The highest quality first; then the methods that a race dropped, whose means are over fewer questions; at the end
    those without an answer.
    """

    def rank(method: MethodFigures) -> tuple[bool, bool, float, str]:
        return not method.n, race is not None and race.is_dropped(method.name), -method.quality, method.name

    return sorted(figures, key=rank)


def make_figure_row(
    method: MethodFigures, recommendation: Recommendation, race: "RaceResult | None" = None
) -> FigureRow:
    """The row of a method."""
    cost = get_cost_or_zero(method, recommendation.unit)
    return FigureRow(
        method.name,
        method.quality,
        method.low,
        method.high,
        cost,
        format_dollars(cost) if recommendation.unit == "cost" else f"{cost:,.0f} tokens",
        find_state(method, recommendation, race),
        find_tag(method.name, recommendation),
    )


def find_tag(name: str, recommendation: Recommendation) -> str:
    """ "best" or "recommended" for the method that the rule chose; empty for any other. It is called best only if no
    other method may be the best.
    """
    if name != recommendation.cheapest:
        return ""
    return "best" if recommendation.is_certain else "recommended"


def find_state(method: MethodFigures, recommendation: Recommendation, race: "RaceResult | None") -> State:
    """What is known of a method. Where nothing is recommended, every method that is left may be the best."""
    if not method.n:
        return "no answer"
    if race is not None and race.is_dropped(method.name):
        return "dropped"
    choice = recommendation.choice
    if choice is None:
        is_left = race is not None and not race.is_finished and method.name in recommendation.equal_methods
        return "leader" if is_left else "over limit"
    if method.name not in choice.means:
        return "over limit"
    return "leader" if method.name in choice.may_be_best else "behind"
