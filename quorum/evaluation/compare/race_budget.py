"""A race under a budget: only methods within it may drop others, because no other method can be recommended."""

from dataclasses import replace

from quorum.evaluation.compare.estimate import MethodEstimate
from quorum.evaluation.compare.figures import compute_figures, compute_mean_costs
from quorum.evaluation.compare.recommend import is_within_budget
from quorum.evaluation.run.plan import Plan
from quorum.evaluation.run.run_plan import RunOutcome


def choose_who_may_drop_others_by_estimate(estimated_plan: Plan) -> Plan:
    """The plan with a race in which only methods that are expected to stay within the budget may drop others.

    The estimate does not know a method's seconds, so every method is expected to stay within a limit on seconds.
    """
    budget = {unit: most for unit, most in estimated_plan.options.budget.items() if unit != "seconds"}
    if estimated_plan.options.race is None or not estimated_plan.options.budget or estimated_plan.estimate is None:
        return estimated_plan
    expected = estimated_plan.estimate.methods
    names = frozenset(
        name
        for name, method_estimate in expected.items()
        if all(is_expected_within_limit(method_estimate, *limit) for limit in budget.items())
    )
    return replace(estimated_plan, names_that_may_drop_others=names)


def is_expected_within_limit(method_estimate: MethodEstimate, unit: str, most: float) -> bool:
    """Whether a method is expected to stay within a limit per question."""
    tokens = method_estimate.input_tokens + method_estimate.output_tokens
    expected = {"calls": method_estimate.calls, "tokens": tokens, "cost": method_estimate.cost}[unit]
    return expected is not None and expected <= most * (1 + 1e-9)


def choose_who_may_drop_others_by_figures(estimated_plan: Plan, outcome: RunOutcome) -> Plan | None:
    """The plan in which the methods that exceeded the budget may no longer drop others; None if none exceeded it.

    The race must then be run again, because those methods may have dropped some that no other method would drop.
    """
    if estimated_plan.names_that_may_drop_others is None or outcome.race is None or not outcome.race.finished:
        return None
    costs, scores = compute_mean_costs(estimated_plan, outcome.results.scores), outcome.results.scores
    figures = [
        compute_figures(name, scores[name], outcome.race.measure, costs[name], [])
        for name in estimated_plan.names_that_may_drop_others
    ]
    affordable = frozenset(figure.name for figure in figures if is_within_budget(figure, estimated_plan.options.budget))
    return (
        None
        if affordable == estimated_plan.names_that_may_drop_others
        else replace(estimated_plan, names_that_may_drop_others=affordable)
    )
