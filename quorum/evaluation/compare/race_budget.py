"""A race under a limit on cost: only methods within the budget may drop others; the cheapest are asked first.

A method that exceeds the budget cannot be recommended, so it must not drop a method that can be.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from quorum.evaluation.compare.estimate import MethodEstimate
from quorum.evaluation.compare.figures import compute_figures, compute_mean_costs
from quorum.evaluation.compare.recommend import is_within_budget
from quorum.evaluation.run.column_scores import ColumnScores
from quorum.evaluation.run.columns import Column
from quorum.evaluation.run.race import RaceRules
from quorum.evaluation.run.race_result import RaceResult


def limit_race(
    rules: RaceRules, budget: Mapping[str, float], max_cost: float | None, estimates: Mapping[str, MethodEstimate]
) -> RaceRules:
    """The rules by which only methods that are expected to stay within the budget may drop others, and by which the
    cheapest are asked first, so that the race gets further before `max_cost` ends it.

    Without a budget and a `max_cost`, the rules stay as they are. The estimates, by method, do not know a method's
    seconds, so every method is expected to stay within a limit on seconds.
    """
    if not budget and max_cost is None:
        return rules
    limit_of_unit = {unit: limit for unit, limit in budget.items() if unit != "seconds"}
    affordable_names = frozenset(
        name
        for name, method_estimate in estimates.items()
        if all(is_expected_within_limit(method_estimate, unit, limit) for unit, limit in limit_of_unit.items())
    )
    return replace(
        rules,
        names_that_may_drop_others=affordable_names if budget else None,
        asking_order=list_names_by_cost(estimates),
    )


def list_names_by_cost(estimates: Mapping[str, MethodEstimate]) -> list[str]:
    """The methods with the cheapest first. If all of them cost nothing, the one with the fewest tokens comes first."""
    is_free = all(not method_estimate.cost for method_estimate in estimates.values())

    def estimate_cost(name: str) -> float:
        method_estimate = estimates[name]
        return method_estimate.input_tokens + method_estimate.output_tokens if is_free else method_estimate.cost or 0.0

    return sorted(estimates, key=estimate_cost)


def is_expected_within_limit(method_estimate: MethodEstimate, unit: str, limit: float) -> bool:
    """Whether a method is expected to use at most `limit` calls, tokens or dollars (unit "cost") per question.

    For the unit "cost", False if its dollars are not known.
    """
    tokens = method_estimate.input_tokens + method_estimate.output_tokens
    expected_use = {"calls": method_estimate.calls, "tokens": tokens, "cost": method_estimate.cost}[unit]
    return expected_use is not None and expected_use <= limit * (1 + 1e-9)  # the factor allows for rounding errors


def correct_rules(
    rules: RaceRules | None,
    budget: Mapping[str, float],
    race: RaceResult | None,
    columns: Sequence[Column],
    scores: Mapping[str, ColumnScores],
    folder: Path,
) -> RaceRules | None:
    """The rules by which the methods that exceeded the budget in the race may no longer drop others.

    By these rules the race must be run again, because a method that exceeded the budget may have dropped others that no
    method within the budget would drop. None if the race need not be run again: no method that may drop others exceeded
    the budget, the rules do not restrict which methods may drop others, or there is no finished race.

    columns, scores, folder: of the race; the folder is that of the results.
    """
    if rules is None or race is None or not race.is_finished or rules.names_that_may_drop_others is None:
        return None
    names = rules.names_that_may_drop_others
    costs = compute_mean_costs(folder, columns, scores)
    figures = [compute_figures(name, scores[name], race.measure, costs[name], []) for name in names]
    affordable_names = frozenset(figure.name for figure in figures if is_within_budget(figure, budget))
    return None if affordable_names == names else replace(rules, names_that_may_drop_others=affordable_names)
