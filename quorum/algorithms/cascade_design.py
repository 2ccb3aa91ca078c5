"""Designs cascades on a third of the recorded questions: the Pareto front of score and cost."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quorum.algorithms.cascades import (
    AcceptanceTest,
    Cascade,
    Flags,
    Floats,
    RecordedAnswers,
    Stage,
    find_accepted_questions,
)

MOST_THRESHOLDS = 8
DESIGN_DIVISOR = 3  # the design uses one third of the questions
SMALLEST_GAIN = 1e-12


def split_questions(group: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw a third of the questions for the design; the other questions are for the certificate.

    No group is divided.
    """
    groups = np.unique(group)
    chosen = np.random.default_rng(seed).permutation(groups)[: max(1, len(groups) // DESIGN_DIVISOR)]
    is_for_design = np.isin(group, chosen)
    return np.flatnonzero(is_for_design), np.flatnonzero(~is_for_design)


def list_acceptance_tests(recorded: RecordedAnswers, method: int, *, first: bool) -> list[AcceptanceTest]:
    """The tests that fit the recorded answers of this method."""
    tests = [AcceptanceTest("known")]
    known = recorded.known[method]
    confidence = recorded.confidence[method]
    values = np.unique(confidence[known & np.isfinite(confidence)])
    if len(values) > MOST_THRESHOLDS:
        values = np.unique(np.quantile(values, np.linspace(0, 1, MOST_THRESHOLDS), method="nearest"))
    tests += [AcceptanceTest("confidence", float(value)) for value in values]
    if recorded.certified[method].any():
        tests.append(AcceptanceTest("certified"))
    if not first:
        tests.append(AcceptanceTest("same"))
    return tests


@dataclass(frozen=True)
class Candidate:
    """A cascade with its score and its cost on the design questions."""

    cascade: Cascade
    score: float
    cost: float


def design_cascades(recorded: RecordedAnswers) -> list[Candidate]:
    """The Pareto front of all cascades cheaper than the best single method, from the highest score to the cheapest.

    Of cascades with equal score and cost, the front has the one with fewest stages.
    """
    score, cost = recorded.worst.mean(axis=1), recorded.cost.mean(axis=1)
    best = max(range(len(recorded.methods)), key=lambda index: (score[index], -cost[index]))
    cheaper = [cascade for cascade in list_cascades(recorded) if cascade.cost < cost[best] - SMALLEST_GAIN]
    front: list[Candidate] = []
    for cascade in sorted(cheaper, key=lambda cascade: (cascade.cost, -cascade.score, len(cascade.cascade))):
        if not front or cascade.score > front[-1].score + SMALLEST_GAIN:
            front.append(cascade)
    return front[::-1]


def list_cascades(recorded: RecordedAnswers) -> Iterator[Candidate]:
    """All cascades that can be on the Pareto front: for the same first two stages, only the cheapest of each score."""
    names, count, n = recorded.methods, len(recorded.methods), max(recorded.questions, 1)
    for method in range(count):
        score, cost = recorded.worst[method].mean(), recorded.cost[method].mean()
        yield Candidate((Stage(names[method], None),), float(score), float(cost))
    lowest = float(recorded.worst.min()) if recorded.worst.size else 0.0
    worst = np.where(recorded.failed, lowest, recorded.worst)
    for first_method in range(count):
        for accept in list_acceptance_tests(recorded, first_method, first=True):
            is_accepted = find_accepted_questions(recorded, first_method, accept, ()) | recorded.failed[first_method]
            score_so_far, is_open = np.where(is_accepted, worst[first_method], 0.0), ~is_accepted
            first = Stage(names[first_method], accept)
            if not is_open.any():
                continue
            for second_method in (method for method in range(count) if method != first_method):
                added = recorded.cost[second_method] - recorded.shared[first_method, second_method]
                cost_so_far = recorded.cost[first_method] + np.where(is_open, added, 0.0)
                last = Stage(names[second_method], None)
                total = (score_so_far + np.where(is_open, worst[second_method], 0.0)).sum()
                yield Candidate((first, last), float(total) / n, float(cost_so_far.sum()) / n)
                yield from list_three_stage_cascades(
                    recorded, worst, (first_method, second_method), first, score_so_far, is_open, cost_so_far
                )


def list_three_stage_cascades(
    recorded: RecordedAnswers,
    worst: Floats,
    first_two_methods: tuple[int, int],
    first: Stage,
    score_so_far: Floats,
    is_open: Flags,
    cost_so_far: Floats,
) -> Iterator[Candidate]:
    """The three-stage cascades that begin with the two methods `first_two_methods`.

    worst: the worth of each answer; first: the first stage; score_so_far, cost_so_far: by question, of the first stage
    and of the first two; is_open: the questions that reach the second stage.
    """
    names, n = recorded.methods, recorded.questions
    first_method, second_method = first_two_methods
    third_methods = [method for method in range(len(names)) if method not in first_two_methods]
    if not third_methods:
        return
    accepts = list_acceptance_tests(recorded, second_method, first=False)
    failed = recorded.failed[second_method]
    is_accepted = (
        np.array(
            [find_accepted_questions(recorded, second_method, accept, (first_method,)) | failed for accept in accepts]
        )
        & is_open
    )
    is_passed_on = is_open & ~is_accepted
    added = recorded.cost[third_methods] - np.maximum(
        recorded.shared[first_method, third_methods], recorded.shared[second_method, third_methods]
    )
    scores = (
        (score_so_far + is_accepted * worst[second_method]).sum(axis=1)[:, None] + is_passed_on @ worst[third_methods].T
    ) / n
    costs = (cost_so_far.sum() + is_passed_on @ added.T) / n
    for row, accept in enumerate(accepts):
        if not is_passed_on[row].any() or not is_accepted[row].any():
            continue
        best: float | None = None
        cheapest_first = np.lexsort((-scores[row], costs[row]))
        for column in cheapest_first:  # a higher cost must bring a higher score
            if best is not None and scores[row, column] <= best + SMALLEST_GAIN:
                continue
            best = float(scores[row, column])
            stages = (first, Stage(names[second_method], accept), Stage(names[third_methods[column]], None))
            yield Candidate(stages, best, float(costs[row, column]))
