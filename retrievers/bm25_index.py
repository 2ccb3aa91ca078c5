"""Builds a bm25s index from arrays. It computes all scores at once; bm25s computes them text by text."""

from types import SimpleNamespace
from typing import Any

import bm25s
import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]
AT_ONCE = 4_000_000  # tokens that are counted together, which takes about 100 MB


class Index(bm25s.BM25):  # type: ignore[misc]
    """A bm25s index with Lucene's BM25. It is saved, loaded and queried like any other bm25s index."""

    @classmethod
    def of(cls, numbers: Integers, lengths: Integers, vocabulary: dict[str, int], k1: float, b: float) -> "Index":
        """An index of tokenized texts.

        numbers: the token numbers of all texts, one text after the other. lengths: the number of tokens of each text.
        """
        index = cls(method="lucene", k1=k1, b=b, backend="numpy")
        corpus = SimpleNamespace(ids=(numbers, lengths), vocab=vocabulary)
        index.index(corpus, show_progress=False, create_empty_token=False)
        return index

    def build_index_from_ids(
        self, unique_token_ids: list[int], corpus_token_ids: tuple[Integers, Integers], **_: Any
    ) -> dict[str, Any]:
        """The score of each token in each text that has it, ordered by token and then by text (compressed columns)."""
        numbers, lengths = corpus_token_ids
        texts, vocabulary = len(lengths), len(unique_token_ids)
        tokens, places, often = count_tokens(numbers, lengths)
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


def count_tokens(numbers: Integers, lengths: Integers) -> tuple[Integers, Integers, Integers]:
    """(token, text, count) of each token in each text, ordered by token and then by text."""
    texts, ends = len(lengths), np.cumsum(lengths)
    keys, counts, begin = [], [], 0
    while begin < texts:  # some texts at a time, because sorting needs several times their memory
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
