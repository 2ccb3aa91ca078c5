"""Scores answers when a wrong answer costs more than "unknown": the shares of right, wrong and unknown answers, and
the costs at which the recommendation changes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from quorum.algorithms.best_set import draw_signed_sums, sum_by_unit
from quorum.algorithms.recommend import MARGIN, choose_method
from quorum.evaluation.metrics.registry import WORTH_MEASURE, is_binary
from quorum.evaluation.metrics.statistics import Floats
from quorum.evaluation.run.column_scores import ColumnScores

ALWAYS_UNKNOWN = "answering unknown always"  # a candidate of its own where a wrong answer costs something
# The costs of a wrong answer, in right answers, at which the recommendation is computed.
SHOWN_COSTS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)


@dataclass(frozen=True)
class Shares:
    """The shares of right, wrong and unknown answers of a method; they sum to 1.

    right: the mean of the measure; unknown: answers that wrongly say "unknown"; wrong: the rest.
    """

    right: float
    wrong: float
    unknown: float


@dataclass(frozen=True)
class ChoiceAtWrongCosts:
    """The recommendation if a wrong answer costs as much as `lowest_cost` to `highest_cost` right answers. Both
    ends are values of SHOWN_COSTS.

    best: the method with the highest mean worth; cheapest: the recommended one. Either may be ALWAYS_UNKNOWN.
    """

    lowest_cost: float
    highest_cost: float
    best: str
    cheapest: str


def compute_shares(scores: ColumnScores, measure: str, ids: Sequence[str]) -> Shares:
    """The shares over the questions `ids` that have a score; all are 0 if no question has one."""
    score, unknown = scores.get_values(measure, ids), scores.get_values("unknown", ids) == 1
    has_score = ~np.isnan(score)
    score, unknown = score[has_score], unknown[has_score]
    if not len(score):
        return Shares(0.0, 0.0, 0.0)
    right, wrongly_unknown = float(score.mean()), float(np.where(unknown, 1 - score, 0.0).mean())
    return Shares(right, max(0.0, 1 - right - wrongly_unknown), wrongly_unknown)


def name_measure(names: Mapping[str, str], measure: str, wrong_cost: float) -> str:
    """The measure in words: 'exact match', or 'worth (1 for a right answer, -2 for a wrong one)' for the worth.

    names: {measure: its name in words}, for all measures but the worth.
    """
    if measure == WORTH_MEASURE:
        return f"worth (1 for a right answer, -{wrong_cost:g} for a wrong one)"
    return names[measure]


def choose_at_wrong_costs(
    scores: Mapping[str, ColumnScores],
    measure: str,
    method_costs: Mapping[str, float],
    shared_ids: Sequence[str],
    margin: float = MARGIN,
) -> list[ChoiceAtWrongCosts]:
    """The recommendation among these methods at each of SHOWN_COSTS, by the rule of `quorum compare`.

    Neighbouring costs with the same recommendation are merged.

    method_costs: the cost of each method per question; shared_ids: the questions that all of them answered.
    """
    names = list(method_costs)
    right = np.column_stack([scores[name].get_values(measure, shared_ids) for name in names])
    unknown = np.column_stack([scores[name].get_values("unknown", shared_ids) == 1 for name in names])
    has_scores = np.asarray(np.isfinite(right).all(axis=1))
    ids = [id_ for id_, flag in zip(shared_ids, has_scores.tolist(), strict=True) if flag]
    right, wrong = right[has_scores], np.where(unknown, 0.0, 1 - right)[has_scores]
    if not right.size:
        return []
    units = scores[names[0]].get_units(ids)
    # Answering "unknown" always is the last candidate, where a wrong answer costs something.
    candidates, costs = [*names, ALWAYS_UNKNOWN], [*method_costs.values(), 0.0]
    right = np.column_stack([right, find_worth_of_always_unknown(scores, names, ids)])
    wrong = np.column_stack([wrong, np.zeros(len(ids))])
    signed_right, signed_wrong = np.hsplit(draw_signed_sums(sum_by_unit(np.hstack([right, wrong]), units)), 2)

    def choose(wrong_cost: float) -> tuple[str, str]:
        count = len(candidates) if wrong_cost else len(names)
        choice = choose_method(
            candidates[:count],
            (right - wrong_cost * wrong)[:, :count],
            costs[:count],
            units,
            graded=bool(wrong_cost) or not is_binary(measure),
            margin=margin,
            largest_difference=1 + wrong_cost,
            signed_sums=(signed_right - wrong_cost * signed_wrong)[:, :count] / (1 + wrong_cost),
        )
        return choice.highest, choice.recommended

    return list_choices(choose)


def find_worth_of_always_unknown(
    scores: Mapping[str, ColumnScores], names: Sequence[str], ids: Sequence[str]
) -> Floats:
    """What the answer "unknown" is worth on each question: 1 where the data have no answer, else 0."""
    unanswerable_ids = set[str]().union(*(scores[name].unanswerable_ids for name in names))
    return np.array([float(id_ in unanswerable_ids) for id_ in ids])


def list_choices(choose: Callable[[float], tuple[str, str]]) -> list[ChoiceAtWrongCosts]:
    """The recommendation at each of SHOWN_COSTS; neighbouring costs with the same recommendation are merged.

    choose: cost of a wrong answer -> (the method with the highest mean worth, the recommended one).

    >>> choices = list_choices(lambda cost: ("a", "a" if cost < 1 else "b"))
    >>> [(choice.lowest_cost, choice.highest_cost, choice.cheapest) for choice in choices]
    [(0.0, 0.75, 'a'), (1.0, 10.0, 'b')]
    """
    choices_of_costs = [(cost, *choose(cost)) for cost in SHOWN_COSTS]
    choices = []
    for (best, cheapest), neighbours in groupby(choices_of_costs, key=lambda choice: choice[1:]):
        costs = [cost for cost, *_ in neighbours]
        choices.append(ChoiceAtWrongCosts(costs[0], costs[-1], best, cheapest))
    return choices


def describe_choices(choices: Sequence[ChoiceAtWrongCosts]) -> str | None:
    """The costs at which the recommendation changes, in a sentence; None without choices."""
    changes = [
        (cheapest, [*neighbours]) for cheapest, neighbours in groupby(choices, key=lambda choice: choice.cheapest)
    ]
    if not changes:
        return None
    (first_method, _), *later_methods = [(name, neighbours[0].lowest_cost) for name, neighbours in changes]
    if not later_methods:
        return (
            f"The recommendation stays {first_method} even if a wrong answer costs as much as {SHOWN_COSTS[-1]:g} "
            "right ones."
        )
    parts = [f"{name} from {lowest_cost:g} on" for name, lowest_cost in later_methods]
    return (
        f"The recommendation depends on how many right answers a wrong one costs: {first_method} at 0, "
        f"{', '.join(parts)}; give your cost with --wrong-cost."
    )
