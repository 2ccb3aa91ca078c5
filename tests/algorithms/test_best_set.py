"""Which methods may be the best: against the definition, spelled out for few questions, and against arch's Model
Confidence Set; the step-down test of a fixed baseline; simultaneous intervals; questions that would be enough.
"""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.decisions import RECORDED_FOLDER
from benchmarks.decisions_recorded import read_recorded_set
from quorum.algorithms.best_set import (
    ALPHA,
    compare_with_fixed,
    compute_simultaneous_interval,
    count_units,
    draw_signed_sums,
    estimate_units_needed,
    find_best_set,
    sum_by_unit,
)

RNG = np.random.default_rng(5)
RIGHT = (RNG.random((8, 4)) < [0.3, 0.9, 0.5, 0.2]).astype(float)
GRADED = np.round(RNG.random((8, 4)) * [0.3, 1.0, 0.6, 0.9], 3)
GROUPS = np.array([0, 0, 1, 2, 3, 3, 4, 5])


def find_by_definition(sums: np.ndarray, k: float) -> list[float]:
    """The adjusted p-values of `find_best_set`, from loops over pairs, stages and all patterns of signs."""

    def lead(totals: np.ndarray, i: int, j: int, offset: float) -> float:
        square = sum((row[i] - row[j]) ** 2 for row in sums)
        return (totals[i] - totals[j] - offset) / math.sqrt(square + offset) if square else -offset / math.inf

    totals, alive, p_values, largest = sums.sum(axis=0), list(range(sums.shape[1])), [1.0] * sums.shape[1], 0.0
    while len(alive) > 1:
        over = {j: max(lead(totals, i, j, k) for i in alive if i != j) for j in alive}
        dropped = max(alive, key=lambda j: over[j])
        hits = 0
        for signs in itertools.product((1, -1), repeat=len(sums)):
            signed = (np.array(signs)[:, None] * sums).sum(axis=0)
            hits += max(abs(lead(signed, i, j, 0)) for i in alive for j in alive if i != j) >= over[dropped] - 1e-9
        largest = max(largest, hits / 2 ** len(sums))
        p_values[dropped] = largest
        alive.remove(dropped)
    return p_values


@pytest.mark.parametrize("graded", [False, True], ids=["right or wrong", "graded"])
@pytest.mark.parametrize("units", [None, GROUPS], ids=["questions", "groups"])
def test_the_set_is_the_one_of_the_definition(graded: bool, units: np.ndarray | None) -> None:
    scores = GRADED if graded else RIGHT
    best_set = find_best_set(scores, units, graded=graded)
    assert best_set.p_values == pytest.approx(find_by_definition(sum_by_unit(scores, units), float(graded)))


@pytest.mark.long  # arch takes a second to import
def test_the_set_names_the_methods_that_the_set_of_arch_names() -> None:
    """The variances of arch come from its bootstrap, ours are about a difference of 0, so that one method at the
    border may differ.
    """
    from arch.bootstrap import MCS

    table = read_recorded_set(RECORDED_FOLDER / "popqa.npz").right_by_question[:, ::3]
    rng, differing_counts = np.random.default_rng(0), []
    for seed in range(12):
        scores = table[rng.integers(len(table), size=250)]
        ours = set(find_best_set(scores, graded=False, patterns=2000).members)
        # a little noise, because arch cannot divide by the variance of two methods that never differ
        losses = 1 - scores + 1e-9 * rng.normal(size=scores.shape)
        reference = MCS(losses, size=ALPHA, reps=1000, block_size=1, method="R", bootstrap="mbb", seed=seed)
        reference.compute()
        differing_counts.append(len(ours ^ set(reference.included)))
    assert max(differing_counts) <= 2
    assert sum(count <= 1 for count in differing_counts) >= 10
    assert sum(count == 0 for count in differing_counts) >= 5


def test_the_drawn_patterns_give_nearly_the_exact_p_values() -> None:
    scores = (np.random.default_rng(1).random((13, 5)) < [0.9, 0.7, 0.5, 0.8, 0.4]).astype(float)
    exact = find_best_set(scores, graded=False, patterns=2**13)
    drawn = find_best_set(scores, graded=False, patterns=2**13 - 1)
    assert drawn.p_values == pytest.approx(exact.p_values, abs=0.015)
    assert find_best_set(scores, graded=False, patterns=900, seed=3).p_values == pytest.approx(
        find_best_set(scores, graded=False, patterns=900, seed=3).p_values
    )
    assert len(draw_signed_sums(scores, 2**13 - 1)) == 2**13 - 1
    assert draw_signed_sums(scores, 1000).mean(axis=0) == pytest.approx(np.zeros(5), abs=0.3)


@pytest.mark.parametrize(("only_first", "only_second"), [(1, 0), (3, 9), (8, 1), (5, 5)])
def test_with_two_methods_both_tests_are_mcnemars(only_first: int, only_second: int) -> None:
    scores = np.array([[1, 0]] * only_first + [[0, 1]] * only_second, dtype=float)
    expected = scipy.stats.binomtest(only_first, only_first + only_second).pvalue  # McNemar's exact test
    assert find_best_set(scores, graded=False).p_values.min() == pytest.approx(expected)
    assert compare_with_fixed(scores, 0, graded=False).p_values[1] == pytest.approx(expected)


def test_methods_that_never_differ_and_a_single_method_may_all_be_the_best() -> None:
    assert find_best_set([[1, 1, 1], [0, 0, 0]] * 20, graded=False).members == [0, 1, 2]
    best_set = find_best_set([[1.0], [0.0]], graded=False)
    assert (best_set.members, best_set.critical_value, best_set.pair_critical_value) == ([0], None, 0.0)
    assert compare_with_fixed([[1.0], [0.0]], 0, graded=False).p_values.tolist() == [1.0]


def test_a_graded_score_needs_a_lead_of_one_question_more() -> None:
    """B is a little better on 99 of 100 questions, which says nothing about a rare large loss."""
    scores = np.array([[0.5, 0.51]] * 99 + [[0.5, 0.4]])
    assert find_best_set(scores, graded=False).members == [1]
    assert find_best_set(scores, graded=True).members == [0, 1]
    assert compare_with_fixed(scores, 0, graded=False).p_values[1] < ALPHA
    assert compare_with_fixed(scores, 0, graded=True).p_values[1] == 1


def test_questions_of_one_document_are_one_observation() -> None:
    """A wins all questions of five documents: with ten questions each, that is no more evidence than five questions."""
    scores, documents = np.array([[1.0, 0.0]] * 50), np.repeat(np.arange(5), 10)
    assert find_best_set(scores, graded=False).members == [0]
    assert find_best_set(scores, documents, graded=False).p_values[1] == 2 / 2**5
    assert compare_with_fixed(scores, 1, documents, graded=False).p_values[0] == 2 / 2**5
    assert (count_units(documents, 50), count_units(None, 50)) == (5, 50)


@given(st.integers(0, 10_000), st.integers(2, 6), st.booleans())
def test_the_highest_mean_is_always_in_the_set_and_the_order_of_methods_does_not_matter(
    seed: int, method_count: int, graded: bool
) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.random((30, method_count)) if graded else (rng.random((30, method_count)) < 0.5).astype(float)
    best_set = find_best_set(scores, graded=graded, patterns=500)
    assert best_set.p_values[scores.mean(axis=0).argmax()] >= ALPHA
    assert ((best_set.p_values > 0) & (best_set.p_values <= 1)).all()
    turned = find_best_set(scores[:, ::-1], graded=graded, patterns=500)
    if len(set(scores.sum(axis=0))) == method_count:  # without ties
        assert turned.p_values[::-1] == pytest.approx(best_set.p_values)


def test_a_fixed_baseline_is_compared_by_the_largest_lead_that_is_left() -> None:
    rng = np.random.default_rng(2)
    scores = (rng.random((60, 5)) < [0.5, 0.9, 0.55, 0.5, 0.2]).astype(float)
    test = compare_with_fixed(scores, 0, graded=False, patterns=4000)
    differences = scores[:, 1:] - scores[:, [0]]
    signs = 1.0 - 2.0 * np.random.default_rng(9).integers(0, 2, size=(20_000, 60))
    scaled = np.abs(signs @ differences) / np.sqrt((differences**2).sum(axis=0))
    leads = np.abs(differences.sum(axis=0)) / np.sqrt((differences**2).sum(axis=0))
    order, largest = np.argsort(-leads), 0.0
    for place, index in enumerate(order):
        largest = max(largest, float((scaled[:, order[place:]].max(axis=1) >= leads[index] - 1e-9).mean()))
        assert test.p_values[index + 1] == pytest.approx(largest, abs=0.02)
        own = scipy.stats.permutation_test(
            (differences[:, index],),
            np.mean,
            permutation_type="samples",
            n_resamples=4000,
            rng=np.random.default_rng(1),
        )
        assert test.own_p_values[index + 1] == pytest.approx(own.pvalue, abs=0.03)
    assert test.critical_value == pytest.approx(np.quantile(scaled.max(axis=1), 0.95), abs=0.1)
    assert test.p_values[0] == 1


@pytest.mark.parametrize("sizes", [np.ones(40), np.arange(1, 41) % 5 + 1], ids=["questions", "groups"])
def test_a_simultaneous_interval_holds_the_differences_that_the_test_does_not_reject(sizes: np.ndarray) -> None:
    sums, critical_value = np.random.default_rng(4).integers(-1, 2, size=40) * sizes * 0.7, 2.6

    def excess(delta: float) -> float:
        return abs(sums.sum() - delta * sizes.sum()) - critical_value * math.sqrt(((sums - delta * sizes) ** 2).sum())

    low, high = compute_simultaneous_interval(sums, sizes, critical_value)
    middle = sums.sum() / sizes.sum()
    assert low == pytest.approx(scipy.optimize.brentq(excess, -3, middle))
    assert high == pytest.approx(scipy.optimize.brentq(excess, middle, 3))


def test_a_simultaneous_interval_always_has_a_width_and_stays_on_the_scale() -> None:
    low, high = compute_simultaneous_interval(np.zeros(50), np.ones(50), 3.0)
    assert (low, high) == pytest.approx((-9 / 59, 9 / 59))
    assert compute_simultaneous_interval([1.0, 1.0], [1, 1], 3.0) == (-1.0, 1.0)  # two units say nothing at 3.0
    low, high = compute_simultaneous_interval(np.ones(30), np.ones(30), 2.0)
    assert 0 < low < high == 1.0


def test_the_units_that_would_be_enough_are_those_of_a_test_at_the_critical_value() -> None:
    differences = np.tile([0.3, -0.2, 0.1], 20)
    needed = estimate_units_needed(differences, 2.9)
    assert needed is not None
    power = NormalDist().cdf(differences.mean() / differences.std(ddof=1) * math.sqrt(needed) - 2.9)
    assert 0.8 <= power < 0.804
    assert estimate_units_needed(np.tile([1.0, 1.0, 0.9], 20), 2.9) == 61  # these 60 did not show it, so more
    assert estimate_units_needed([0.5], 2.9) is None
    assert estimate_units_needed([1.0, -1.0], 2.9) is None
