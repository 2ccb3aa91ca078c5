"""Builds a bm25s index from arrays: computes for all texts at once the scores that bm25s computes text by text."""

from types import SimpleNamespace
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]
AT_ONCE = 4_000_000  # occurrences that are counted together: some 100 MB


class Index(bm25s.BM25):  # type: ignore[misc]
    """A bm25s index by Lucene's BM25; it is saved, loaded and queried like any other bm25s index."""

    @classmethod
    def of(cls, numbers: Integers, lengths: Integers, vocabulary: dict[str, int], k1: float, b: float) -> "Index":
        """numbers: of the tokens of all texts, one text after the other; lengths: tokens of each text."""
        index = cls(method="lucene", k1=k1, b=b, backend="numpy")
        corpus = SimpleNamespace(ids=(numbers, lengths), vocab=vocabulary)
        index.index(corpus, show_progress=False, create_empty_token=False)
        return index

    def build_index_from_ids(
        self, unique_token_ids: list[int], corpus_token_ids: tuple[Integers, Integers], **_: Any
    ) -> dict[str, Any]:
        """The score of each token in each text that has it, by token and then by text (compressed columns)."""
        numbers, lengths = corpus_token_ids
        texts, vocabulary = len(lengths), len(unique_token_ids)
        tokens, places, often = counted(numbers, lengths)
        found_in = np.bincount(tokens, minlength=vocabulary)
        rarity = np.log(1 + (texts - found_in + 0.5) / (found_in + 0.5)).astype(self.dtype)
        share = self.k1 * ((1 - self.b) + self.b * lengths / lengths.mean())
        self.nonoccurrence_array = None
        return {
            "data": (rarity[tokens] * (often / (share[places] + often))).astype(self.dtype),
            "indices": places.astype(self.int_dtype),
            "indptr": np.concatenate([[0], np.cumsum(found_in)]).astype(np.int64),
            "num_docs": texts,
        }


def counted(numbers: Integers, lengths: Integers) -> tuple[Integers, Integers, Integers]:
    """(token, text, how often) of each token in each text, in order of token and then of text."""
    texts, ends = len(lengths), np.cumsum(lengths)
    keys, counts, begin = [], [], 0
    while begin < texts:  # a part of the texts at a time: a sort needs several times their memory
        first = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, first + AT_ONCE, side="right")))
        places = np.repeat(np.arange(begin, end), lengths[begin:end])
        key, count = np.unique(numbers[first : ends[end - 1]].astype(np.int64) * texts + places, return_counts=True)
        keys.append(key)
        counts.append(count)
        begin = end
    every, often = np.concatenate(keys), np.concatenate(counts)
    if len(keys) > 1:
        order = np.argsort(every, kind="stable")
        every, often = every[order], often[order]
    return every // texts, every % texts, often
