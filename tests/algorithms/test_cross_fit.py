"""The cross-fitted score of the best method, without the bias of choosing it by its own score."""

import numpy as np

from quorum.algorithms.cross_fit import compute_cross_fitted_score


def test_the_score_of_the_best_of_equal_methods_is_unbiased() -> None:
    rng = np.random.default_rng(2)
    naive_scores, cross_fitted_scores = [], []
    for _ in range(30):
        # 60 questions by 12 methods, each of which is right with probability 0.4
        table = (rng.random((60, 12)) < 0.4).astype(float)
        naive_scores.append(table.mean(axis=0).max())
        cross_fitted_scores.append(compute_cross_fitted_score(table, splits=20))
    assert np.mean(naive_scores) > 0.48
    assert abs(np.mean(cross_fitted_scores) - 0.4) < 0.02


def test_a_clear_winner_keeps_its_score() -> None:
    assert compute_cross_fitted_score([[1.0, 0.0]] * 9 + [[0.0, 0.0]]) == 0.9
