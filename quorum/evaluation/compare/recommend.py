"""Recommends a method: of the methods within the budget, the cheapest that may be as good as the best of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
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
    """The budget {unit: limit} that a text such as 'calls=3,cost=0.01' states; empty for None or an empty text."""
    budget: dict[str, float] = {}
    for item in filter(str.strip, (text or "").split(",")):
        unit, equals, limit_text = (part.strip() for part in item.partition("="))
        try:
            limit = float(limit_text)
        except ValueError:
            limit = math.nan
        if unit not in COST_UNIT_NAMES or not equals or not limit >= 0 or math.isinf(limit):
            raise SetupError(
                f"The budget {item.strip()!r} cannot be read; write calls=3, tokens=2000, cost=0.01 (dollars) or "
                "seconds=2, each of them for one question, several separated by commas."
            )
        budget[unit] = limit
    return budget


def recommend_method(
    figures: Sequence[MethodFigures],
    scores: Mapping[str, ColumnScores],
    measure: str,
    budget: Mapping[str, float],
    race: RaceResult | None = None,
    wrong_cost: float = 0.0,
) -> Recommendation:
    """Recommend one of the methods that are within the budget, answered at least one question and were not dropped by a
    race. The Pareto front is computed over all methods that answered a question: it can hold methods beyond the budget
    and dropped methods, too.

    If a race ended before its survivors were asked every question, there is no best method, unless only one survives.
    """
    answering_methods = [method for method in figures if method.n]
    unit = choose_cost_unit(answering_methods)
    dropped_methods = (
        [] if race is None else [standing.method for standing in race.dropped_standings if scores[standing.method].ids]
    )
    within_budget = [
        method
        for method in answering_methods
        if is_within_budget(method, budget) and method.name not in dropped_methods
    ]
    front = find_pareto_front(answering_methods, unit)
    make_recommendation_without_best = partial(
        Recommendation,
        measure=measure,
        budget=dict(budget),
        best=None,
        cheapest=None,
        pareto_front=front,
        unit=unit,
        comparison=None,
        wrong_cost=wrong_cost,
    )
    if race is not None and not race.is_finished and len(race.survivors) > 1:
        recommendation = make_recommendation_without_best(equal_methods=[method.name for method in within_budget])
        recommendation.sentences.extend(describe_failures(figures))
        return recommendation
    if not within_budget:
        recommendation = make_recommendation_without_best(equal_methods=[])
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
        measure=measure,
        budget=dict(budget),
        best=best.name,
        equal_methods=[method.name for method in equal_methods],
        cheapest=cheapest.name,
        pareto_front=front,
        unit=unit,
        comparison=comparison,
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
    """{method: its difference from the best method in the measure}. A difference whose test is "race" is left out: it
    was not tested on a fixed set of questions.
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
    """Whether a method is within every limit of the budget. Without a price it is never within a limit on dollars."""
    costs_and_limits = [(method.get_cost(unit), limit) for unit, limit in budget.items()]
    return all(cost is not None and cost <= limit * (1 + 1e-9) for cost, limit in costs_and_limits)


def find_pareto_front(figures: Sequence[MethodFigures], unit: str) -> list[str]:
    """The Pareto front, from the cheapest to the best: no other method is better at the same or a lower cost."""
    names, best = [], -math.inf
    for method in sorted(figures, key=lambda method: (get_cost_or_zero(method, unit), -method.quality)):
        if method.quality > best:
            names.append(method.name)
            best = method.quality
    return names


def convert_recommendation_to_json(recommendation: Recommendation) -> dict[str, Any]:
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
