"""A race under a limit on cost: only methods within the budget may drop others; the cheapest are asked first.

A method that exceeds the budget cannot be recommended, so it must not drop a method that can be.
"""

from collections.abc import Mapping
from dataclasses import replace

from quorum.evaluation.compare.estimate import MethodEstimate
from quorum.evaluation.compare.estimated_plan import EstimatedPlan
from quorum.evaluation.compare.figures import compute_figures, compute_mean_costs
from quorum.evaluation.compare.recommend import is_within_budget
from quorum.evaluation.run.run_plan import RunOutcome


def prepare_race(estimated_plan: EstimatedPlan) -> EstimatedPlan:
    """The plan of a race in which only methods that are expected to stay within the budget may drop others, and in
    which the cheapest are asked first, so that the race gets further before `max_cost` ends it.

    A plan without a race is returned unchanged; so is one with neither a budget nor a `max_cost`. The estimate does not
    know a method's seconds, so every method is expected to stay within a limit on seconds.
    """
    options, estimates = estimated_plan.options, estimated_plan.estimate.methods
    if options.race is None or not (options.budget or options.max_cost is not None):
        return estimated_plan
    limit_of_unit = {unit: limit for unit, limit in options.budget.items() if unit != "seconds"}
    affordable_names = frozenset(
        name
        for name, method_estimate in estimates.items()
        if all(is_expected_within_limit(method_estimate, unit, limit) for unit, limit in limit_of_unit.items())
    )
    return replace(
        estimated_plan,
        names_that_may_drop_others=affordable_names if options.budget else None,
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


def restrict_dropping_by_measured_costs(estimated_plan: EstimatedPlan, outcome: RunOutcome) -> EstimatedPlan | None:
    """The plan in which the methods that exceeded the budget in the race may no longer drop others.

    With this plan the race must be run again, because a method that exceeded the budget may have dropped others that no
    method within the budget would drop. None if the race need not be run again: no method that may drop others exceeded
    the budget, the plan does not restrict which methods may drop others, or there is no finished race.
    """
    if estimated_plan.names_that_may_drop_others is None or outcome.race is None or not outcome.race.is_finished:
        return None
    costs, scores = compute_mean_costs(estimated_plan, outcome.results.scores), outcome.results.scores
    figures = [
        compute_figures(name, scores[name], outcome.race.measure, costs[name], [])
        for name in estimated_plan.names_that_may_drop_others
    ]
    affordable_names = frozenset(
        figure.name for figure in figures if is_within_budget(figure, estimated_plan.options.budget)
    )
    return (
        None
        if affordable_names == estimated_plan.names_that_may_drop_others
        else replace(estimated_plan, names_that_may_drop_others=affordable_names)
    )
