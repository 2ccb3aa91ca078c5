"""Estimates the score of the best of several methods without the bias of choosing it on the same questions."""

import numpy as np
from numpy.typing import ArrayLike

RANDOM_SPLITS = 200


def compute_cross_fitted_score(values: ArrayLike, *, splits: int = RANDOM_SPLITS, seed: int = 0) -> float:
    """The mean score of the best method, chosen on one random half of the questions and scored on the other.

    values: a table of scores with a row for each question (at least two) and a column for each method; splits: how
    often the questions are split into two halves. Each half chooses the best method once, which is then scored on the
    other half; of equally good methods, the mean score counts. The winner's score on the questions that chose it is too
    high. This bias grows with more methods and with fewer questions (Varma and Simon 2006). The estimate here is a
    little too low, because only half of the questions choose the winner.

    Each of these two methods answers half of the questions right, and neither is better:

    >>> round(compute_cross_fitted_score([[1.0, 0.0], [0.0, 1.0]] * 50), 1)
    0.5
    """
    table = np.asarray(values, dtype=np.float64)
    generator, scores = np.random.default_rng(seed), []
    for _ in range(splits):
        order = generator.permutation(len(table))
        first_half, second_half = order[: len(table) // 2], order[len(table) // 2 :]
        for chosen_on, scored_on in ((first_half, second_half), (second_half, first_half)):
            means = table[chosen_on].mean(axis=0)
            best = np.flatnonzero(means >= means.max() - 1e-12)
            scores.append(float(table[scored_on][:, best].mean()))
    return float(np.mean(scores))
