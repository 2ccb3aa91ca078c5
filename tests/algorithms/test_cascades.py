"""Cascades: the replay of their answers and costs, their design, and the error rate of the certificate."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from quorum.algorithms.cascade_certificates import certify_cascades, compute_losses_by_method
from quorum.algorithms.cascade_design import CascadeCandidate, design_cascades, list_cascades, split_questions
from quorum.algorithms.cascades import AcceptanceTest, RecordedAnswers, Stage, compute_stage_shares, replay_cascade


def make_recorded_answers(right: np.ndarray, cost: list[float], is_known: np.ndarray | None = None) -> RecordedAnswers:
    """Answers that are right (1) or wrong (0). All right answers are equal, and no wrong answer equals another.

    right, is_known: a row for each method, a column for each question. cost: for each method, what one answer costs.
    """
    count, n = right.shape
    wrong = 2 + np.arange(count * n).reshape(count, n)
    return RecordedAnswers(
        methods=tuple("abcdefgh"[:count]),
        lowest_worth=right.astype(float),
        highest_worth=right.astype(float),
        is_known=np.ones((count, n), dtype=bool) if is_known is None else is_known,
        has_failed=np.zeros((count, n), dtype=bool),
        answer_number=np.where(right > 0, 1, wrong),
        confidence=np.full((count, n), np.nan),
        is_certified=np.zeros((count, n), dtype=bool),
        cost=np.array(cost)[:, None] * np.ones((1, n)),
        shared_cost=np.zeros((count, count, n)),
        question_groups=np.arange(n),
    )


THREE_METHODS = make_recorded_answers(np.array([[1, 0, 0, 0], [0, 1, 0, 1], [0, 1, 1, 0]]), [1.0, 2.0, 5.0])


def test_a_cascade_continues_until_a_stage_passes_its_test() -> None:
    is_known = np.array([[True, False, True, False], [True, True, False, False], [True] * 4])
    table = replace(THREE_METHODS, is_known=is_known)
    replay = replay_cascade(
        table, (Stage("a", AcceptanceTest("known")), Stage("b", AcceptanceTest("known")), Stage("c", None))
    )
    assert replay.lowest_worth.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert replay.cost.tolist() == [1.0, 3.0, 1.0, 8.0]
    assert replay.is_asked.tolist() == [[True] * 4, [False, True, False, True], [False, False, False, True]]
    shares = compute_stage_shares(table, (Stage("a", AcceptanceTest("known")), Stage("b", None)))
    assert shares == {"a": 1.0, "b": 0.5}


@pytest.mark.parametrize(
    ("accept", "expected_worth", "is_c_asked"),
    [
        (AcceptanceTest("confidence", 0.5), [0.0, 1.0, 1.0, 1.0], [True, False, True, False]),
        (AcceptanceTest("certified"), [0.0, 1.0, 0.0, 0.0], [False, True, False, True]),
        (AcceptanceTest("same"), [0.0, 1.0, 0.0, 0.0], [True, True, False, True]),
    ],
)
def test_every_acceptance_test_of_a_stage(
    accept: AcceptanceTest, expected_worth: list[float], is_c_asked: list[bool]
) -> None:
    """`accept` is the test of stage b. On the last two questions, the answers of b and c differ in worth."""
    answer_number = THREE_METHODS.answer_number.copy()
    answer_number[1, 2] = answer_number[0, 2]  # a and b give the same wrong answer
    table = replace(
        THREE_METHODS,
        confidence=np.array([[np.nan] * 4, [np.nan, 0.9, 0.2, 0.5], [np.nan] * 4]),
        is_certified=np.array([[False] * 4, [True, False, True, False], [False] * 4]),
        answer_number=answer_number,
    )
    never_passed = AcceptanceTest("confidence", 0.9)  # method a has no confidence
    cascade = (Stage("a", never_passed), Stage("b", accept), Stage("c", None))
    replay = replay_cascade(table, cascade)
    assert replay.lowest_worth.tolist() == expected_worth
    assert replay.is_asked[2].tolist() == is_c_asked


def test_calls_that_an_earlier_stage_made_are_not_paid_again() -> None:
    shared_cost = np.zeros((3, 3, 4))  # [A, B]: the cost of the calls of method B that method A makes as well
    shared_cost[0, 1], shared_cost[1, 2], shared_cost[0, 2] = 1.0, 2.0, 1.0
    table = replace(THREE_METHODS, shared_cost=shared_cost, is_known=np.zeros((3, 4), dtype=bool))
    cascade = (Stage("a", AcceptanceTest("known")), Stage("b", AcceptanceTest("known")), Stage("c", None))
    # a costs 1; b costs 2 less 1; c costs 5 less 2, the larger of its costs that are shared with a and with b.
    assert replay_cascade(table, cascade).cost.tolist() == [1 + 1 + 3] * 4


def test_a_stage_that_failed_fails_the_question() -> None:
    has_failed = np.zeros((3, 4), dtype=bool)
    has_failed[0, 1] = True
    table = replace(THREE_METHODS, has_failed=has_failed, is_known=np.zeros((3, 4), dtype=bool))
    assert table.lowest_worth[2, 1] == 1.0  # method c alone would be right
    assert replay_cascade(table, (Stage("a", AcceptanceTest("known")), Stage("c", None))).lowest_worth[1] == 0.0


def draw_answers(seed: int, n: int = 90) -> RecordedAnswers:
    rng = np.random.default_rng(seed)
    right = (rng.random((5, n)) < np.array([[0.3], [0.35], [0.4], [0.4], [0.45]])).astype(float)
    table = make_recorded_answers(right, [1, 2, 3, 5, 7], is_known=rng.random((5, n)) < 0.8)
    confidence = np.where(rng.random((5, n)) < 0.9, np.round(rng.random((5, n)), 1), np.nan)
    shared_cost = rng.random((5, 5, n)) * 0.5
    return replace(table, confidence=confidence, shared_cost=shared_cost, is_certified=rng.random((5, n)) < 0.5)


def test_the_design_computes_the_same_scores_and_costs_as_a_replay() -> None:
    table = draw_answers(4)
    cascade_forms = set()  # (number of stages, the kinds of their acceptance tests)
    for number, candidate in enumerate(list_cascades(table)):
        cascade_forms.add((len(candidate.cascade), *(stage.accept.test for stage in candidate.cascade if stage.accept)))
        if number % 5 == 0:  # replaying all 5,000 would take too long
            replay = replay_cascade(table, candidate.cascade)
            assert candidate.score == pytest.approx(replay.lowest_worth.mean())
            assert candidate.cost == pytest.approx(replay.cost.mean())
    assert {(2, "known"), (2, "confidence"), (3, "confidence", "same"), (3, "certified", "confidence")} <= cascade_forms


def test_the_design_is_a_pareto_front_below_the_cost_of_the_best_method() -> None:
    table = draw_answers(5)
    front = design_cascades(table)
    best = int(table.lowest_worth.mean(axis=1).argmax())
    assert front
    assert all(item.cost < table.cost[best].mean() for item in front)
    pairs = [(item.score, item.cost) for item in front]
    assert pairs == sorted(pairs, reverse=True)
    assert all(above[0] > below[0] and above[1] > below[1] for above, below in pairwise(pairs))


def test_the_cascade_is_tested_against_every_single_method() -> None:
    table = draw_answers(6)
    cascade = (Stage("a", AcceptanceTest("known")), Stage("e", None))
    losses = compute_losses_by_method(table, cascade, wrong_cost=0.0)
    assert sorted(losses) == ["a", "b", "c", "d", "e"]
    assert losses["e"].tolist() == (table.lowest_worth[4] - replay_cascade(table, cascade).lowest_worth).tolist()
    assert sorted(compute_losses_by_method(table, (Stage("a", None),), 0.0)) == ["b", "c", "d", "e"]


def test_questions_of_one_document_count_as_one() -> None:
    table = replace(draw_answers(7), question_groups=np.arange(90) // 3)
    assert all(len(values) == 30 for values in compute_losses_by_method(table, (Stage("a", None),), 0.0).values())
    design_questions, certificate_questions = split_questions(table.question_groups, seed=1)
    assert not set(table.question_groups[design_questions]) & set(table.question_groups[certificate_questions])
    assert len(design_questions) + len(certificate_questions) == 90
    assert len(design_questions) == 30


def test_the_certificate_stops_at_the_first_failure() -> None:
    right = np.array([[1.0] * 300, [1.0] * 300, [0.0] * 300])
    table = make_recorded_answers(right, [5.0, 3.0, 1.0])
    front = [CascadeCandidate((Stage(name, None),), 0.0, 0.0) for name in "bc"]
    assert [item.is_passed for item in certify_cascades(table, front, 0.03, 0.1)] == [True, False]
    assert [item.is_passed for item in certify_cascades(table, front[::-1], 0.03, 0.1)] == [False]


def test_a_cascade_that_loses_too_much_is_seldom_certified() -> None:
    """Methods a and b are right on 45% of the questions; the cascade asks method c alone, which is right on 40%."""
    rng, wrong_certificates, repetitions = np.random.default_rng(8), 0, 150
    for _ in range(repetitions):
        right = (rng.random((3, 200)) < np.array([[0.45], [0.45], [0.4]])).astype(float)
        table = make_recorded_answers(right, [5.0, 5.0, 1.0])
        candidates = [candidate for candidate in list_cascades(table) if candidate.cascade == (Stage("c", None),)]
        wrong_certificates += certify_cascades(table, candidates, 0.05, 0.1)[0].is_passed
    # The certificates promise an error rate of 0.1 at most. Three standard errors allow for chance.
    assert wrong_certificates / repetitions <= 0.1 + 3 * math.sqrt(0.09 / repetitions)
