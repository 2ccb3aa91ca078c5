"""Recommends a method: of the methods within the budget that may be the best, the cheapest that is nearly as good."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from quorum.algorithms.best_set import ALPHA, find_best_set
from quorum.algorithms.recommend import MARGIN, Choice, choose_method
from quorum.core.errors import SetupError
from quorum.evaluation.compare.describe_recommendation import (
    describe_failures,
    describe_none_within_budget,
    describe_recommendation,
)
from quorum.evaluation.compare.figures import find_shared_questions
from quorum.evaluation.compare.recommendation import (
    COST_UNIT_NAMES,
    MethodFigures,
    Recommendation,
    get_cost_or_zero,
)
from quorum.evaluation.compare.verdict import make_verdict
from quorum.evaluation.compare.wrong_cost import ALWAYS_UNKNOWN, find_worth_of_always_unknown
from quorum.evaluation.run.baseline import compare_with_best
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.differences import collect_values
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
    margin: float = MARGIN,
) -> Recommendation:
    """Recommend one of the methods that are within the budget, answered at least one question and were not dropped by a
    race, by the rule of `quorum.algorithms.recommend`. The Pareto front is computed over all methods that answered a
    question: it can hold methods beyond the budget and dropped methods, too.

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
    empty_recommendation = Recommendation(
        measure=measure,
        budget=dict(budget),
        best=None,
        equal_methods=[],
        cheapest=None,
        pareto_front=find_pareto_front(answering_methods, unit),
        unit=unit,
        comparison=None,
        wrong_cost=wrong_cost,
        margin=margin,
    )
    if race is not None and not race.is_finished and len(race.survivors) > 1:
        return replace(
            empty_recommendation,
            equal_methods=[method.name for method in within_budget],
            sentences=describe_failures(figures),
            verdict=make_verdict(empty_recommendation, figures, within_budget, race),
        )
    if not within_budget:
        return replace(
            empty_recommendation,
            sentences=describe_none_within_budget(answering_methods, figures, empty_recommendation),
            verdict=make_verdict(empty_recommendation, figures, within_budget, race),
        )
    shared_ids = find_shared_questions(scores, race)
    choice, best = choose_among(scores, within_budget, measure, unit, shared_ids, wrong_cost, margin)
    names = [method.name for method in within_budget]
    cost_of_name = {method.name: get_cost_or_zero(method, unit) for method in within_budget}
    recommendation = replace(
        empty_recommendation,
        best=best,
        equal_methods=sorted(
            (name for name in choice.may_be_best if name not in (best, ALWAYS_UNKNOWN)), key=lambda n: cost_of_name[n]
        ),
        cheapest=None if choice.recommended == ALWAYS_UNKNOWN else choice.recommended,
        comparison=compare_with_best(scores, names, best, shared_ids, race, dropped_methods),
        choice=choice,
        by_wording=find_differences_in_wording(scores, choice, names, measure, shared_ids),
    )
    recommendation.sentences.extend(
        describe_recommendation(recommendation, figures, within_budget, dropped_methods=dropped_methods)
    )
    return replace(recommendation, verdict=make_verdict(recommendation, figures, within_budget, race))


def choose_among(
    scores: Mapping[str, ColumnScores],
    methods: Sequence[MethodFigures],
    measure: str,
    unit: str,
    shared_ids: Sequence[str],
    wrong_cost: float,
    margin: float,
) -> tuple[Choice, str]:
    """What the rule of recommendation says of these methods, and which of them has the highest quality.

    Where a wrong answer costs something, answering "unknown" always is a candidate as well.
    """
    names = [method.name for method in methods]
    table = collect_values(scores, names, measure, shared_ids)
    candidates, worth = names, table.values
    costs = [get_cost_or_zero(method, unit) for method in methods]
    best = max(methods, key=lambda method: (round(method.quality, 6), -get_cost_or_zero(method, unit))).name
    if wrong_cost:
        always_unknown = find_worth_of_always_unknown(scores, names, table.ids)
        candidates, costs = [*names, ALWAYS_UNKNOWN], [*costs, 0.0]
        worth = np.column_stack([worth, always_unknown])
    choice = choose_method(
        candidates,
        worth,
        costs,
        table.units,
        graded=not table.binary,
        margin=margin,
        largest_difference=table.scale,
    )
    return choice, best


def find_differences_in_wording(
    scores: Mapping[str, ColumnScores],
    choice: Choice,
    names: Sequence[str],
    measure: str,
    shared_ids: Sequence[str],
) -> tuple[str, ...]:
    """The methods that are not among the best for exact match, but may be if an answer need only contain an accepted
    one: they differ from the best by the wording of their answers, not by their quality.
    """
    if measure != "em" or not choice.not_among_best:
        return ()
    table = collect_values(scores, names, "contains", shared_ids)
    if not len(table.values):
        return ()
    best_set = find_best_set(table.values, table.units, graded=False)
    may_be_best = {name for name, p in zip(names, best_set.p_values, strict=True) if p >= ALPHA}
    return tuple(name for name in choice.not_among_best if name in may_be_best)


def choose_cost_unit(methods: Sequence[MethodFigures]) -> str:
    """The unit of the costs that are compared: "cost" (dollars) if all prices are known and one is not 0, else
    "tokens".
    """
    has_all_costs = bool(methods) and all(method.cost is not None for method in methods)
    return "cost" if has_all_costs and any(method.cost for method in methods) else "tokens"


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
        "recommended": ALWAYS_UNKNOWN if recommendation.recommends_unknown else recommendation.cheapest,
        "certain": recommendation.is_certain,
        "margin": recommendation.margin,
        **describe_choice_in_json(recommendation),
        "pareto_front": recommendation.pareto_front,
        "against_the_best": recommendation.comparison["methods"] if recommendation.comparison else {},
        "at_wrong_costs": [asdict(choice) for choice in recommendation.choices_at_wrong_costs],
        "headline": recommendation.verdict.headline,
        "summary": recommendation.verdict.sentences,
        "sentences": recommendation.sentences,
    }


def describe_choice_in_json(recommendation: Recommendation) -> dict[str, Any]:
    """What the rule of recommendation said: which methods may be the best, which are not, about how many questions
    would leave one, and which are behind by their wording only. Without a best, no method is said to be behind.
    """
    choice = recommendation.choice
    return {
        "may_be_best": recommendation.equal_methods if choice is None else choice.may_be_best,
        "not_among_best": [] if choice is None else choice.not_among_best,
        "questions_to_settle": None if choice is None else choice.questions_to_settle,
        "by_wording": list(recommendation.by_wording),
    }
