"""Chooses which retrieval settings enter a race, by their recall alone: a heuristic that asks no model.

Recall grows with the number of passages k, and answers need not: so settings are compared within each k.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def choose_by_recall(recalls: Sequence[float], ks: Sequence[int], keep: int) -> NDArray[np.bool_]:
    """Which of these settings to keep: within each k the `keep` with the highest recall; of equal ones, the first.

    recalls: (settings,), from 0 to 1. ks: (settings,), how many passages each finds.

    >>> choose_by_recall([0.5, 0.7, 0.6, 0.9], [3, 3, 3, 5], keep=2).tolist()
    [False, True, True, True]
    """
    values, numbers = np.asarray(recalls, dtype=np.float64), np.asarray(ks)
    kept = np.zeros(len(values), dtype=np.bool_)
    for k in np.unique(numbers):
        places = np.flatnonzero(numbers == k)
        kept[places[np.argsort(-values[places], kind="stable")[:keep]]] = True
    return kept
