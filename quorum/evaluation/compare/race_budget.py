"""A race under a budget: only methods that keep it may drop others, because no other method can be recommended."""

from dataclasses import replace

from quorum.evaluation.compare.estimate import MethodEstimate
from quorum.evaluation.compare.figures import figures_of, mean_costs
from quorum.evaluation.compare.recommend import is_within
from quorum.evaluation.run.plan import Plan
from quorum.evaluation.run.run_plan import Rows


def with_expected_challengers(planned: Plan) -> Plan:
    """The plan, in whose race only the methods that should keep the budget may drop others. The estimate expects no
    seconds of a method: every method should keep a limit on them.
    """
    budget = {unit: most for unit, most in planned.options.budget.items() if unit != "seconds"}
    if planned.options.race is None or not planned.options.budget or planned.estimate is None:
        return planned
    expected = planned.estimate.methods
    chosen = frozenset(name for name, one in expected.items() if all(keeps(one, *limit) for limit in budget.items()))
    return replace(planned, challengers=chosen)


def keeps(one: MethodEstimate, unit: str, most: float) -> bool:
    """Whether a method is expected to keep a limit for a question."""
    tokens = one.input_tokens + one.output_tokens
    expected = {"calls": one.calls, "tokens": tokens, "cost": one.cost}[unit]
    return expected is not None and expected <= most * (1 + 1e-9)


def without_expensive_challengers(planned: Plan, rows: Rows) -> Plan | None:
    """The plan without the challengers that took more than the budget; None if all kept it.

    The race must then be run again: it may have dropped methods that only these were better than.
    """
    if planned.challengers is None or rows.race is None or not rows.race.finished:
        return None
    costs, scores = mean_costs(planned, rows.results.scores), rows.results.scores
    figures = [figures_of(name, scores[name], rows.race.measure, costs[name], []) for name in planned.challengers]
    kept = frozenset(one.name for one in figures if is_within(one, planned.options.budget))
    return None if kept == planned.challengers else replace(planned, challengers=kept)
