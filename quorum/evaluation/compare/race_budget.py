"""In a race under a budget, only methods within the budget may drop others from the race.

A method that exceeds the budget cannot be recommended, so it must not drop a method that can be.
"""

from dataclasses import replace

from quorum.evaluation.compare.estimate import MethodEstimate
from quorum.evaluation.compare.figures import compute_figures, compute_mean_costs
from quorum.evaluation.compare.recommend import is_within_budget
from quorum.evaluation.run.plan import Plan
from quorum.evaluation.run.run_plan import RunOutcome


def restrict_dropping_by_estimate(estimated_plan: Plan) -> Plan:
    """The plan with a race in which only methods that are expected to stay within the budget may drop others.

    A plan without a race, a budget or an estimate is returned unchanged. The estimate does not know a method's seconds,
    so every method is expected to stay within a limit on seconds.
    """
    if estimated_plan.options.race is None or not estimated_plan.options.budget or estimated_plan.estimate is None:
        return estimated_plan
    limit_of_unit = {unit: limit for unit, limit in estimated_plan.options.budget.items() if unit != "seconds"}
    affordable_names = frozenset(
        name
        for name, method_estimate in estimated_plan.estimate.methods.items()
        if all(is_expected_within_limit(method_estimate, unit, limit) for unit, limit in limit_of_unit.items())
    )
    return replace(estimated_plan, names_that_may_drop_others=affordable_names)


def is_expected_within_limit(method_estimate: MethodEstimate, unit: str, limit: float) -> bool:
    """Whether a method is expected to use at most `limit` calls, tokens or dollars (unit "cost") per question.

    For the unit "cost", False if its dollars are not known.
    """
    tokens = method_estimate.input_tokens + method_estimate.output_tokens
    expected_use = {"calls": method_estimate.calls, "tokens": tokens, "cost": method_estimate.cost}[unit]
    return expected_use is not None and expected_use <= limit * (1 + 1e-9)  # the factor allows for rounding errors


def restrict_dropping_by_measured_costs(estimated_plan: Plan, outcome: RunOutcome) -> Plan | None:
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
