"""Recommends one of the methods of recorded results, by the rule of `quorum compare`."""

from collections.abc import Mapping

import numpy as np

from quorum.algorithms.recommend import MARGIN, Choice, choose_method
from quorum.evaluation.compare.wrong_cost import ALWAYS_UNKNOWN
from quorum.evaluation.decisions.recorded_results import RecordedResults


def choose_recorded_method(
    results: RecordedResults,
    *,
    costs: Mapping[str, float] | None = None,
    wrong_cost: float = 0.0,
    margin: float = MARGIN,
) -> Choice | None:
    """What the rule of recommendation says of the methods that were asked every question, over the questions that all
    of them answered. None if no method answered a question.

    costs: by method; by default its mean tokens for a question. Where a wrong answer costs something, answering
    "unknown" always is a candidate as well.
    """
    names = [name for name in results.complete_methods if np.isfinite(results.get_numbers(name, results.measure)).any()]
    if not names:
        return None
    score = np.column_stack([results.get_numbers(name, results.measure) for name in names])
    worth = np.column_stack([results.bound_worth(name, wrong_cost)[0] for name in names])
    # In the order of `quorum compare`: p-values come from random signs, one for each question in turn.
    order = np.argsort(np.array(results.ids), kind="stable")
    rows = order[np.isfinite(score[order]).all(axis=1)]
    known_costs = measure_tokens(results) if costs is None else costs
    candidates, candidate_costs = names, [known_costs[name] for name in names]
    if wrong_cost:
        candidates, candidate_costs = [*names, ALWAYS_UNKNOWN], [*candidate_costs, 0.0]
        worth = np.column_stack([worth, results.is_unanswerable.astype(float)])
    return choose_method(
        candidates,
        worth[rows],
        candidate_costs,
        results.group_numbers[rows],
        graded=bool(wrong_cost) or not results.is_right_or_wrong,
        margin=margin,
        largest_difference=1 + wrong_cost,
    )


def measure_tokens(results: RecordedResults) -> dict[str, float]:
    """Each method's mean tokens for a question, in and out; 0 if they are not known."""
    tokens = {
        name: results.get_numbers(name, "input_tokens") + results.get_numbers(name, "output_tokens")
        for name in results.methods
    }
    return {name: float(np.nanmean(counts)) if np.isfinite(counts).any() else 0.0 for name, counts in tokens.items()}
