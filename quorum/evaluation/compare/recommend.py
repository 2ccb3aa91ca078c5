"""Recommends a method: the best within the budget, or the cheapest that does not differ significantly from it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from quorum.core.errors import SetupError
from quorum.evaluation.compare.baseline import compare_with_baseline
from quorum.evaluation.compare.describe_recommendation import (
    describe_failures,
    describe_none_within_budget,
    describe_recommendation,
)
from quorum.evaluation.compare.recommendation import (
    ALPHA,
    COST_UNIT_NAMES,
    MethodFigures,
    Recommendation,
    get_cost_or_zero,
)
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.race_result import RaceResult


def read_budget(text: str | None) -> dict[str, float]:
    """The budget {unit: most} that a text such as 'calls=3,cost=0.01' states."""
    budget: dict[str, float] = {}
    for item in filter(str.strip, (text or "").split(",")):
        unit, equals, most = (part.strip() for part in item.partition("="))
        try:
            value = float(most)
        except ValueError:
            value = math.nan
        if unit not in COST_UNIT_NAMES or not equals or not value >= 0 or math.isinf(value):
            raise SetupError(
                f"The budget {item.strip()!r} cannot be read; write calls=3, tokens=2000, cost=0.01 (dollars) or "
                "seconds=2, each of them for one question, several separated by commas."
            )
        budget[unit] = value
    return budget


def recommend_method(
    figures: Sequence[MethodFigures],
    scores: Mapping[str, ColumnScores],
    measure: str,
    budget: Mapping[str, float],
    race: RaceResult | None = None,
    wrong_cost: float = 0.0,
) -> Recommendation:
    """The recommendation among the methods that answered at least one question, and that a race did not drop.

    A race that did not ask its survivors everything has no best method, unless only one method survives.
    """
    answering_methods = [method for method in figures if method.n]
    unit = choose_cost_unit(answering_methods)
    dropped_methods = (
        [] if race is None else [standing.method for standing in race.dropped if scores[standing.method].ids]
    )
    within_budget = [
        method
        for method in answering_methods
        if is_within_budget(method, budget) and method.name not in dropped_methods
    ]
    front = find_pareto_front(answering_methods, unit)
    if race is not None and not race.finished and len(race.survivors) > 1:
        names = [method.name for method in within_budget]
        recommendation = Recommendation(
            measure, dict(budget), None, names, None, front, unit, None, wrong_cost=wrong_cost
        )
        recommendation.sentences.extend(describe_failures(figures))
        return recommendation
    if not within_budget:
        recommendation = Recommendation(measure, dict(budget), None, [], None, front, unit, None, wrong_cost=wrong_cost)
        recommendation.sentences.extend(describe_none_within_budget(answering_methods, figures, recommendation))
        return recommendation
    best = max(within_budget, key=lambda method: (round(method.quality, 6), -get_cost_or_zero(method, unit)))
    comparison = compare_with_baseline(
        scores, [*(method.name for method in within_budget), *dropped_methods], best.name, race
    )
    tested_differences = select_tested_differences(comparison, measure)
    equal_methods = find_equal_methods(within_budget, tested_differences, unit)
    cheapest = min([best, *equal_methods], key=lambda method: get_cost_or_zero(method, unit))
    recommendation = Recommendation(
        measure,
        dict(budget),
        best.name,
        [method.name for method in equal_methods],
        cheapest.name,
        front,
        unit,
        comparison,
        wrong_cost=wrong_cost,
    )
    recommendation.sentences.extend(
        describe_recommendation(
            recommendation, figures, within_budget, tested_differences, dropped_methods=dropped_methods
        )
    )
    return recommendation


def choose_cost_unit(methods: Sequence[MethodFigures]) -> str:
    """The unit of the costs that are compared: "cost" (dollars) if all prices are known and one is not 0, else
    "tokens".
    """
    has_all_costs = bool(methods) and all(method.cost is not None for method in methods)
    return "cost" if has_all_costs and any(method.cost for method in methods) else "tokens"


def select_tested_differences(comparison: Mapping[str, Any], measure: str) -> dict[str, Any]:
    """{method: its difference from the best in the measure}, only for methods that were tested on the same fixed
    questions, so that their test is not "race".
    """
    all_differences = {
        name: differences[measure] for name, differences in comparison["methods"].items() if measure in differences
    }
    return {name: difference for name, difference in all_differences.items() if difference["test"] != "race"}


def find_equal_methods(
    methods: Sequence[MethodFigures], tested_differences: Mapping[str, Any], unit: str
) -> list[MethodFigures]:
    """The methods whose difference from the best is not significant, the cheapest first."""
    return sorted(
        (
            method
            for method in methods
            if method.name in tested_differences and tested_differences[method.name]["p_holm"] >= ALPHA
        ),
        key=lambda method: get_cost_or_zero(method, unit),
    )


def is_within_budget(method: MethodFigures, budget: Mapping[str, float]) -> bool:
    """Whether a method is within the budget; a method without a price is never within a limit on cost."""
    costs = [(method.get_cost(unit), most) for unit, most in budget.items()]
    return all(value is not None and value <= most * (1 + 1e-9) for value, most in costs)


def find_pareto_front(figures: Sequence[MethodFigures], unit: str) -> list[str]:
    """The Pareto front, from the cheapest to the best: no other method is better at the same or a lower cost."""
    names, best = [], -math.inf
    for method in sorted(figures, key=lambda method: (get_cost_or_zero(method, unit), -method.quality)):
        if method.quality > best:
            names.append(method.name)
            best = method.quality
    return names


def to_json(recommendation: Recommendation) -> dict[str, Any]:
    """The content of recommendation.json."""
    return {
        "measure": recommendation.measure,
        "wrong_cost": recommendation.wrong_cost,
        "budget": recommendation.budget,
        "best": recommendation.best,
        "indistinguishable": recommendation.equal_methods,
        "cheapest": recommendation.cheapest,
        "pareto_front": recommendation.pareto_front,
        "against_the_best": recommendation.comparison["methods"] if recommendation.comparison else {},
        "at_wrong_costs": [asdict(choice) for choice in recommendation.choices_at_wrong_costs],
        "sentences": recommendation.sentences,
    }
