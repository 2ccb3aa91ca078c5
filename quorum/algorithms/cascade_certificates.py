"""Certifies that no single method is better than a cascade by `lose_at_most` or more.

The test uses recorded questions that the design of the cascade did not use.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quorum.algorithms.cascade_design import CascadeCandidate
from quorum.algorithms.cascades import Cascade, Floats, RecordedAnswers, replay_cascade
from quorum.algorithms.paired import compute_margin_p_value


@dataclass(frozen=True)
class CascadeCertificate:
    """The test of a cascade on the certifying questions.

    p_value: of the hypothesis "some single method is better by `lose_at_most` or more". hardest_rival: the single
    method with the largest p-value; None (and then p_value is 1) if only one method is recorded and the cascade
    consists of it alone. loss: the mean lead of the hardest rival over the cascade; 0 without a rival. is_passed:
    whether the test rejects the hypothesis, so that the cascade is certified.
    """

    candidate: CascadeCandidate
    p_value: float
    hardest_rival: str | None
    loss: float
    is_passed: bool


def compute_losses_by_method(
    recorded_answers: RecordedAnswers, cascade: Cascade, wrong_cost: float
) -> dict[str, Floats]:
    """For each single method, its worth minus the cascade's: the mean of each group of questions, scaled to [-1, 1].

    A group holds the questions of the same document or conversation (`RecordedAnswers.question_groups`). A cascade that
    is itself a single method is not compared with that method.

    Where a call failed, the single method counts with its highest possible worth, and the cascade with its lowest.
    wrong_cost: what a wrong answer costs, if a right one is worth 1.
    """
    worth = replay_cascade(recorded_answers, cascade).lowest_worth
    only_method = cascade[0].method if len(cascade) == 1 else None
    losses = {}
    for place, name in enumerate(recorded_answers.methods):
        if name != only_method:
            losses[name] = average_by_group(
                (recorded_answers.highest_worth[place] - worth) / (1 + wrong_cost), recorded_answers.question_groups
            )
    return losses


def average_by_group(values: Floats, question_groups: NDArray[np.int64]) -> Floats:
    """The mean of each group of questions. question_groups: the group number of each question."""
    _, group_places = np.unique(question_groups, return_inverse=True)
    averages: Floats = np.bincount(group_places, weights=values) / np.bincount(group_places)
    return averages


def certify_cascades(
    recorded_answers: RecordedAnswers,
    candidates: Sequence[CascadeCandidate],
    lose_at_most: float,
    error: float,
    wrong_cost: float = 0.0,
) -> list[CascadeCertificate]:
    """Test the candidates in their order, up to and including the first that fails.

    A candidate's p-value is the largest over all single methods: an intersection-union test, which needs no correction
    (Berger 1982). Because the order of the tests is fixed, the number of candidates needs no correction either (Maurer
    et al. 1995).

    error: the largest allowed probability that a cascade is certified although it loses `lose_at_most` or more; a
    candidate passes if its p-value is at most this. wrong_cost: see `compute_losses_by_method`.
    """
    certificates: list[CascadeCertificate] = []
    margin = lose_at_most / (1 + wrong_cost)
    for candidate in candidates:
        losses_of_method = compute_losses_by_method(recorded_answers, candidate.cascade, wrong_cost)
        p_values = {name: compute_margin_p_value(values, margin) for name, values in losses_of_method.items()}
        hardest_rival = max(p_values, key=lambda name: p_values[name]) if p_values else None
        p_value = p_values[hardest_rival] if hardest_rival else 1.0
        loss = float(losses_of_method[hardest_rival].mean()) * (1 + wrong_cost) if hardest_rival else 0.0
        certificates.append(CascadeCertificate(candidate, p_value, hardest_rival, loss, p_value <= error))
        if p_value > error:
            break
    return certificates
