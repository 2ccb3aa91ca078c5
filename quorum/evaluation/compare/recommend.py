"""The decision in words: which method is best within the budget, and which methods are not significantly different."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from quorum.core.errors import SetupError
from quorum.evaluation.compare.baseline import Comparison, Difference, compare
from quorum.evaluation.compare.wrong_cost import Choice, name_measure
from quorum.evaluation.run.race_result import RaceResult
from quorum.evaluation.run.results import ColumnScores

ALPHA = 0.05
UNIT_OF_COST = {"calls": "calls", "tokens": "tokens", "cost": "dollars", "seconds": "seconds (95th percentile)"}
NAME_OF_MEASURE = {
    "em": "exact match",
    "f1": "F1",
    "accuracy": "accuracy",
    "rouge_l": "ROUGE-L",
    "str_em": "STR-EM",
    "judged": "judged accuracy",
}


@dataclass(frozen=True)
class Figures:
    """One method in numbers. quality: the mean of the deciding measure in 0..1, with its interval; with a cost of wrong
    answers the mean worth, in -cost..1. The rest for a question, alone: calls, tokens in and out, dollars (None: no
    price), seconds that 95% of the questions keep below.

    n: the questions that count for quality, which all methods answered; errors: questions on which this method failed;
    right, wrong, unknown: how the answers to the n questions divide, in shares.
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

    def of(self, unit: str) -> float | None:
        """The method's cost in a unit of the budget."""
        found: float | None = getattr(self, unit)
        return found


@dataclass(frozen=True)
class Recommendation:
    """Which method to use, and why.

    measure: the deciding measure; best: the method with the highest mean within the budget, None if no method is within
    it; equals: methods within the budget that do not differ significantly from the best (p_holm >= 0.05), cheapest
    first; cheapest: the cheapest of `best` and `equals`; front: the Pareto front, cheap to good; sentences: the
    recommendation in words, the most important first. wrong_cost: what a wrong answer takes away, in right ones;
    choices: what would be recommended at other costs.
    """

    measure: str
    budget: dict[str, float]
    best: str | None
    equals: list[str]
    cheapest: str | None
    front: list[str]
    unit: str
    comparison: Comparison | None
    sentences: list[str] = field(default_factory=list)
    wrong_cost: float = 0.0
    choices: tuple[Choice, ...] = ()

    @property
    def measure_name(self) -> str:
        """The deciding measure in words."""
        return name_measure(NAME_OF_MEASURE, self.measure, self.wrong_cost)


def read_budget(text: str | None) -> dict[str, float]:
    """{unit: most} of 'calls=3,cost=0.01'."""
    budget: dict[str, float] = {}
    for item in filter(str.strip, (text or "").split(",")):
        unit, equals, most = (part.strip() for part in item.partition("="))
        try:
            value = float(most)
        except ValueError:
            value = math.nan
        if unit not in UNIT_OF_COST or not equals or not value >= 0 or math.isinf(value):
            raise SetupError(
                f"The budget {item.strip()!r} cannot be read; write calls=3, tokens=2000, cost=0.01 (dollars) or "
                "seconds=2, all of them for a question, several with a comma between."
            )
        budget[unit] = value
    return budget


def recommend(
    figures: Sequence[Figures],
    scores: Mapping[str, ColumnScores],
    measure: str,
    budget: Mapping[str, float],
    race: RaceResult | None = None,
    wrong_cost: float = 0.0,
) -> Recommendation:
    """The recommendation among the methods that answered at least one question, and that a race did not drop.

    A race that did not ask its survivors everything has no best method, unless one is left.
    """
    answered = [one for one in figures if one.n]
    unit = "cost" if answered and all(one.cost is not None for one in answered) else "tokens"
    if unit == "cost" and not any(one.cost for one in answered):
        unit = "tokens"  # everything is free
    dropped = [] if race is None else [one.method for one in race.dropped if scores[one.method].ids]
    within = [one for one in answered if is_within(one, budget) and one.name not in dropped]
    if race is not None and not race.finished and len(race.survivors) > 1:
        names, front = [one.name for one in within], find_pareto_front(answered, unit)
        return Recommendation(measure, dict(budget), None, names, None, front, unit, None, wrong_cost=wrong_cost)
    if not within:
        front = find_pareto_front(answered, unit)
        made = Recommendation(measure, dict(budget), None, [], None, front, unit, None, wrong_cost=wrong_cost)
        made.sentences.extend(describe_no_fit(answered, figures, made))
        return made
    best = max(within, key=lambda one: (round(one.quality, 6), -get_cost(one, unit)))
    comparison = compare(scores, [*(one.name for one in within), *dropped], best.name, race)
    every = {name: one[measure] for name, one in comparison["methods"].items() if measure in one}
    found = {name: one for name, one in every.items() if one["test"] != "race"}
    equal = sorted(
        (one for one in within if one.name in found and found[one.name]["p_holm"] >= ALPHA),
        key=lambda one: get_cost(one, unit),
    )
    cheapest = min([best, *equal], key=lambda one: get_cost(one, unit))
    made = Recommendation(
        measure,
        dict(budget),
        best.name,
        [one.name for one in equal],
        cheapest.name,
        find_pareto_front(answered, unit),
        unit,
        comparison,
        wrong_cost=wrong_cost,
    )
    made.sentences.extend(describe(made, figures, within, found, raced=bool(dropped)))
    return made


def is_within(one: Figures, budget: Mapping[str, float]) -> bool:
    """Whether a method is within the budget; a method without a price is never within a limit on cost."""
    describe_costs = [(one.of(unit), most) for unit, most in budget.items()]
    return all(value is not None and value <= most * (1 + 1e-9) for value, most in describe_costs)


def get_cost(one: Figures, unit: str) -> float:
    return one.of(unit) or 0.0


def find_pareto_front(figures: Sequence[Figures], unit: str) -> list[str]:
    """The Pareto front, from the cheapest to the best: no other method is better at the same or a lower cost."""
    names, best = [], -math.inf
    for one in sorted(figures, key=lambda one: (get_cost(one, unit), -one.quality)):
        if one.quality > best:
            names.append(one.name)
            best = one.quality
    return names


def describe_baseline(made: Recommendation, comparisons: Sequence[Comparison]) -> list[str]:
    """The best method against the baseline."""
    for one in comparisons:
        found = one["methods"].get(str(made.best), {}).get(made.measure)
        if found is not None:
            ends = f"[{100 * found['low']:+.1f}, {100 * found['high']:+.1f}]"
            if found["test"] == "race":
                difference = f"{format_points(found['difference'])} {ends}"
                return [f"Against {one['baseline']}, over the questions of both: {difference}."]
            p = format_p(found["p_holm"])
            return [f"Against the baseline {one['baseline']}: {format_points(found['difference'])} {ends}, {p}."]
    return []


def describe(
    made: Recommendation,
    figures: Sequence[Figures],
    within: Sequence[Figures],
    found: Mapping[str, Difference],
    *,
    raced: bool,
) -> list[str]:
    """The recommendation as sentences. raced: a race has dropped methods."""
    by_name = {one.name: one for one in figures}
    best = by_name[str(made.best)]
    alone = len(within) == 1 and len(found) == 0
    sentences = [describe_headline(made, by_name, alone=alone, raced=raced)]
    sentences += describe_equals(made, by_name, found)
    if made.budget and len(within) == 1 and not raced:
        sentences.append("No other method keeps within the limit.")
    sentences += describe_worse(best, found)
    sentences += describe_beyond_budget(best, figures, within)
    return sentences + describe_failures(figures)


def describe_headline(made: Recommendation, by_name: Mapping[str, Figures], *, alone: bool, raced: bool) -> str:
    """The recommended method, its score and what it takes. A method is called best only if it differs from all others
    by more than chance.
    """
    one = by_name[str(made.cheapest)]
    limit = f" within {describe_budget(made.budget)}" if made.budget else ""
    if made.equals:
        claim = f"Too few questions to choose; the cheapest of the equals{limit} is {one.name}"
    elif alone and raced:
        claim = f"{one.name} won the race{limit}"
    elif alone:
        claim = f"{one.name} is the only method{limit}"
    else:
        claim = f"{one.name} is best{limit}"
    return (
        f"{claim}: {made.measure_name} {describe_quality(one)} over {one.n:,} questions, "
        f"for {describe_costs(one)} a question."
    )


def describe_quality(one: Figures) -> str:
    """'71.0% [62.0%, 80.0%]'."""
    return f"{format_percent(one.quality)} [{format_percent(one.low)}, {format_percent(one.high)}]"


def describe_equals(made: Recommendation, by_name: Mapping[str, Figures], found: Mapping[str, Difference]) -> list[str]:
    """The method with the highest mean, the methods that do not differ significantly from it, how many questions would
    show a difference, and what the cheapest saves.
    """
    if not made.equals:
        return ["Every other method is worse by more than chance would make it (p < 0.05, corrected)."] if found else []
    best = by_name[str(made.best)]
    parts = []
    for name in sorted(made.equals, key=lambda name: -by_name[name].quality):
        needed = found[name]["questions_needed"]
        tell = f"; about {needed:,} questions would tell" if needed else ""
        parts.append(f"{name} ({format_points(found[name]['difference'])}{tell})")
    high = f"The highest mean has {best.name}: {describe_quality(best)}, for {describe_costs(best)} a question"
    if made.cheapest == best.name:
        high = "It also has the highest mean"
    sentences = [f"{high}; these questions cannot tell it from {join_first_names(parts)}."]
    if made.cheapest != best.name:
        cheap = by_name[str(made.cheapest)]
        share = get_cost(cheap, made.unit) / get_cost(best, made.unit) if get_cost(best, made.unit) else 1.0
        what = "cost" if made.unit == "cost" else "tokens"
        sentences.append(f"{cheap.name} takes {format_percent(share, 0)} of its {what}.")
    return sentences


def describe_worse(best: Figures, found: Mapping[str, Difference]) -> list[str]:
    worse = {name: one for name, one in found.items() if one["p_holm"] < ALPHA}
    if not worse or len(worse) == len(found):
        return []
    nearest = sorted(worse.items(), key=lambda item: -item[1]["difference"])
    parts = [f"{name} ({format_points(one['difference'])}, {format_p(one['p_holm'])})" for name, one in nearest]
    return [f"Worse by more than chance: {join_first_names(parts)}."]


def describe_beyond_budget(best: Figures, figures: Sequence[Figures], within: Sequence[Figures]) -> list[str]:
    """The sentence about a better method that exceeds the budget."""
    names = {one.name for one in within}
    beyond = [one for one in figures if one.n and one.name not in names and one.quality > best.quality]
    if not beyond:
        return []
    top = max(beyond, key=lambda one: one.quality)
    return [
        f"Without the limit {top.name} would be ahead: {format_percent(top.quality)}, "
        f"for {describe_costs(top)} a question."
    ]


def describe_no_fit(answered: Sequence[Figures], figures: Sequence[Figures], made: Recommendation) -> list[str]:
    if not answered:
        return ["No method answered any question.", *describe_failures(figures)]
    sentences = [f"No method keeps within {describe_budget(made.budget)}."]
    if "cost" in made.budget and any(one.cost is None for one in answered):
        sentences.append("A model without a price cannot keep a limit on cost; give its price with --prices FILE.")
    best = max(answered, key=lambda one: one.quality)
    sentences.append(
        f"Without the limit {best.name} has the highest mean: {made.measure_name} {format_percent(best.quality)}, "
        f"for {describe_costs(best)}."
    )
    return [*sentences, *describe_failures(figures)]


def describe_failures(figures: Sequence[Figures]) -> list[str]:
    most = sorted((one for one in figures if one.errors), key=lambda one: -one.errors)
    if not most:
        return []
    failed = join_first_names([f"{one.errors:,} of {one.name}" for one in most])
    return [f"Answers that failed count neither as right nor as wrong: {failed}; the same command again asks them."]


def describe_budget(budget: Mapping[str, float]) -> str:
    parts = [f"${most:g}" if unit == "cost" else f"{most:,g} {UNIT_OF_COST[unit]}" for unit, most in budget.items()]
    return f"{join_names(parts)} a question"


def describe_costs(one: Figures) -> str:
    """'3.2 calls, 1,240 tokens, $0.0004, 1.20 s (p95)'."""
    cost = [] if one.cost is None or not one.cost else [format_dollars(one.cost)]
    return ", ".join([f"{one.calls:.1f} calls", f"{one.tokens:,.0f} tokens", *cost, f"{one.seconds:.2f} s (p95)"])


def format_dollars(value: float) -> str:
    """Dollars with three significant digits: $1.23, $0.000412."""
    if not value:
        return "$0"
    digits = max(2, 2 - math.floor(math.log10(abs(value))))
    return f"${value:,.{digits}f}"


def describe_bill(cost: float | None, seconds: float) -> str:
    """The expected cost and time: '$1.23, 12 minutes'."""
    money = "no price known" if cost is None else format_dollars(cost)
    return f"{money}, {seconds / 60:,.0f} minutes" if seconds >= 90 else f"{money}, {seconds:,.0f} seconds"


def format_percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}%"


def format_points(share: float) -> str:
    points = round(100 * share, 1) + 0.0
    return f"{points:+.1f} points" if points else "no difference"


def format_p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def join_names(parts: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def join_first_names(parts: Sequence[str], most: int = 5) -> str:
    """All of the names, or the first ones and how many more the table of all methods shows."""
    if len(parts) <= most:
        return join_names(parts)
    return f"{', '.join(parts[: most - 1])} and {len(parts) - most + 1} more (see the table)"


def to_json(made: Recommendation) -> dict[str, Any]:
    """For recommendation.json."""
    return {
        "measure": made.measure,
        "wrong_cost": made.wrong_cost,
        "budget": made.budget,
        "best": made.best,
        "indistinguishable": made.equals,
        "cheapest": made.cheapest,
        "pareto_front": made.front,
        "against_the_best": made.comparison["methods"] if made.comparison else {},
        "at_wrong_costs": [asdict(one) for one in made.choices],
        "words": made.sentences,
    }
