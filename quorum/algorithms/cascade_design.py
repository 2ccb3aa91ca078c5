"""Designs cascades: finds the Pareto front of score and cost on a third of the recorded questions."""

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

MOST_THRESHOLDS = 8  # thresholds of confidence that are tried for one stage
DESIGN_DIVISOR = 3  # the design uses one third of the questions
SMALLEST_GAIN = 1e-12  # smaller differences between scores, or between costs, count as rounding errors


def split_questions(question_groups: NDArray[np.int64], seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw a third of the questions for the design; the other questions are for the certificate.

    Questions of the same group (a document or a conversation) stay together. question_groups: the group number of each
    question.
    """
    groups = np.unique(question_groups)
    design_groups = np.random.default_rng(seed).permutation(groups)[: max(1, len(groups) // DESIGN_DIVISOR)]
    is_for_design = np.isin(question_groups, design_groups)
    return np.flatnonzero(is_for_design), np.flatnonzero(~is_for_design)


def list_acceptance_tests(
    recorded_answers: RecordedAnswers, method: int, *, is_first_stage: bool
) -> list[AcceptanceTest]:
    """The acceptance tests to try for a stage that asks this method, chosen by the method's recorded answers.

    is_first_stage: whether the stage is the cascade's first. The test "same" needs an earlier stage.
    """
    tests = [AcceptanceTest("known")]
    is_known = recorded_answers.is_known[method]
    confidence = recorded_answers.confidence[method]
    thresholds = np.unique(confidence[is_known & np.isfinite(confidence)])
    if len(thresholds) > MOST_THRESHOLDS:
        thresholds = np.unique(np.quantile(thresholds, np.linspace(0, 1, MOST_THRESHOLDS), method="nearest"))
    tests += [AcceptanceTest("confidence", float(threshold)) for threshold in thresholds]
    if recorded_answers.is_certified[method].any():
        tests.append(AcceptanceTest("certified"))
    if not is_first_stage:
        tests.append(AcceptanceTest("same"))
    return tests


@dataclass(frozen=True)
class CascadeCandidate:
    """A cascade with its score and its cost on the design questions.

    score: the mean worth of its answers; where a method failed, the worth is unknown, and its lower bound counts. cost:
    the mean cost of a question. If a stage failed on a question, the cost includes no later stage. `replay_cascade`
    includes later stages, so with failed calls its cost can be higher.
    """

    cascade: Cascade
    score: float
    cost: float


def design_cascades(recorded_answers: RecordedAnswers) -> list[CascadeCandidate]:
    """The Pareto front of all cascades cheaper than the best single method, from the highest score to the cheapest.

    Of cascades with equal score and cost, the front has the one with the fewest stages.
    """
    score, cost = recorded_answers.lowest_worth.mean(axis=1), recorded_answers.cost.mean(axis=1)
    best = max(range(len(recorded_answers.methods)), key=lambda index: (score[index], -cost[index]))
    candidates = [
        candidate for candidate in list_cascades(recorded_answers) if candidate.cost < cost[best] - SMALLEST_GAIN
    ]
    candidates.sort(key=lambda candidate: (candidate.cost, -candidate.score, len(candidate.cascade)))
    front: list[CascadeCandidate] = []
    for candidate in candidates:
        if not front or candidate.score > front[-1].score + SMALLEST_GAIN:
            front.append(candidate)
    return front[::-1]


def list_cascades(recorded_answers: RecordedAnswers) -> Iterator[CascadeCandidate]:
    """All cascades that can be on the Pareto front.

    A cascade of three stages is left out if another one with the same first two stages costs no more and has the same
    score or a higher one.
    """
    names, method_count = recorded_answers.methods, len(recorded_answers.methods)
    question_count = max(recorded_answers.question_count, 1)
    for method in range(method_count):
        score, cost = recorded_answers.lowest_worth[method].mean(), recorded_answers.cost[method].mean()
        yield CascadeCandidate((Stage(names[method], None),), float(score), float(cost))
    # As in `replay_cascade`, the worth of a cascade on a question on which it fails is the lowest worth of all recorded
    # answers to all questions.
    lowest = float(recorded_answers.lowest_worth.min()) if recorded_answers.lowest_worth.size else 0.0
    worth = np.where(recorded_answers.has_failed, lowest, recorded_answers.lowest_worth)
    for first_method in range(method_count):
        for accept in list_acceptance_tests(recorded_answers, first_method, is_first_stage=True):
            is_accepted = (  # a question on which the stage failed ends here, too
                find_accepted_questions(recorded_answers, first_method, accept, ())
                | recorded_answers.has_failed[first_method]
            )
            score_so_far, is_open = np.where(is_accepted, worth[first_method], 0.0), ~is_accepted
            first_stage = Stage(names[first_method], accept)
            if not is_open.any():
                continue
            for second_method in (method for method in range(method_count) if method != first_method):
                added_cost = (
                    recorded_answers.cost[second_method] - recorded_answers.shared_cost[first_method, second_method]
                )
                cost_so_far = recorded_answers.cost[first_method] + np.where(is_open, added_cost, 0.0)
                last_stage = Stage(names[second_method], None)
                total = (score_so_far + np.where(is_open, worth[second_method], 0.0)).sum()
                yield CascadeCandidate(
                    (first_stage, last_stage), float(total) / question_count, float(cost_so_far.sum()) / question_count
                )
                yield from list_three_stage_cascades(
                    recorded_answers,
                    worth,
                    (first_method, second_method),
                    first_stage,
                    score_so_far,
                    is_open,
                    cost_so_far,
                )


def list_three_stage_cascades(
    recorded_answers: RecordedAnswers,
    worth: Floats,
    first_two_methods: tuple[int, int],
    first_stage: Stage,
    score_so_far: Floats,
    is_open: Flags,
    cost_so_far: Floats,
) -> Iterator[CascadeCandidate]:
    """The three-stage cascades that begin with the two methods `first_two_methods`.

    worth: the worth of each answer, by method and question; score_so_far: the worth of the first stage's answer to each
    question that ends there, else 0; cost_so_far: the cost of the first two stages, by question; is_open: whether a
    question reaches the second stage.
    """
    names, question_count = recorded_answers.methods, recorded_answers.question_count
    first_method, second_method = first_two_methods
    third_methods = [method for method in range(len(names)) if method not in first_two_methods]
    if not third_methods:
        return
    accepts = list_acceptance_tests(recorded_answers, second_method, is_first_stage=False)
    has_failed = recorded_answers.has_failed[second_method]
    is_accepted = (  # also the questions on which the second stage failed; a row per test
        np.array(
            [
                find_accepted_questions(recorded_answers, second_method, accept, (first_method,)) | has_failed
                for accept in accepts
            ]
        )
        & is_open
    )
    is_passed_on = is_open & ~is_accepted
    added_cost = recorded_answers.cost[third_methods] - np.maximum(
        recorded_answers.shared_cost[first_method, third_methods],
        recorded_answers.shared_cost[second_method, third_methods],
    )
    scores = (
        (score_so_far + is_accepted * worth[second_method]).sum(axis=1)[:, None] + is_passed_on @ worth[third_methods].T
    ) / question_count
    costs = (cost_so_far.sum() + is_passed_on @ added_cost.T) / question_count
    for row, accept in enumerate(accepts):  # scores and costs: a row per test, a column per third method
        if not is_passed_on[row].any() or not is_accepted[row].any():
            continue
        best_score: float | None = None
        cheapest_first = np.lexsort((-scores[row], costs[row]))
        for column in cheapest_first:  # a higher cost must bring a higher score
            if best_score is not None and scores[row, column] <= best_score + SMALLEST_GAIN:
                continue
            best_score = float(scores[row, column])
            stages = (first_stage, Stage(names[second_method], accept), Stage(names[third_methods[column]], None))
            yield CascadeCandidate(stages, best_score, float(costs[row, column]))
