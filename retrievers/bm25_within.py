"""BM25 among the passages that a filter lets through, as if there were no others.

The number of passages, their mean length and the number of those that hold a word are those of the passages that pass.
So the scores, and their order, are those of an index of these passages alone, and say nothing of the others. They are
computed from the scores of the whole index, which give the counts back: a score is idf * tf / (tf + C).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

K1, B = 0.9, 0.4


def score_within(
    scores: Any, lengths: NDArray[np.int64], chosen: NDArray[np.bool_], tokens: Sequence[int]
) -> NDArray[np.float32]:
    """One score per passage; 0 for one without a token of the query, and for one that is not chosen.

    scores: bm25s's scores of an index. lengths: (passages,), in tokens. chosen: (passages,), those that pass. tokens:
    the numbers of the query's tokens.
    """
    data, texts, starts = (scores[name] for name in ("data", "indices", "indptr"))
    found = np.zeros(len(lengths), dtype=np.float32)
    chosen_count = int(chosen.sum())
    if not chosen_count:
        return found
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    norm_within = K1 * (1 - B + B * lengths / lengths[chosen].mean())
    for token in tokens:
        column = slice(int(starts[token]), int(starts[token + 1]))
        rows, values = texts[column], data[column].astype(np.float64)
        share = values / compute_idf(len(rows), len(lengths))  # tf / (tf + norm)
        is_chosen = chosen[rows]
        rows, share = rows[is_chosen], share[is_chosen]
        counts = np.rint(share * norm[rows] / (1 - share))
        found[rows] += compute_idf(len(rows), chosen_count) * counts / (counts + norm_within[rows])
    return found


def compute_idf(matching: int, count: int) -> float:
    """Lucene's: of a word in `matching` of `count` passages."""
    return math.log(1 + (count - matching + 0.5) / (matching + 0.5))
