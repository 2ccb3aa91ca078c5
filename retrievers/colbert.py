"""Late interaction (Khattab and Zaharia 2020, ColBERT, section 3): MaxSim over the token vectors of all passages.

The search is exact: it compares every token of the collection and uses no index of centroids. That takes about a second
of processor time for ten thousand passages of a hundred words. A token vector has 16 bits per number.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quorum.core.state import Passage
from quorum.models.token_embeddings import TokenEncoder
from quorum.retrievers.passages import copy_with_score

Vectors = NDArray[np.float16]
TOKENS_AT_ONCE = 1 << 16


class TokenIndex:
    """Passages and their token vectors: rows starts[i] to starts[i + 1] of `vectors` are those of passage i."""

    def __init__(
        self,
        passages: Sequence[Passage],
        vectors: Vectors,
        starts: NDArray[np.int64],
        tokens_at_once: int = TOKENS_AT_ONCE,
    ) -> None:
        if len(starts) != len(passages) + 1 or starts[-1] != len(vectors):
            raise ValueError("passages, vectors and starts do not belong together")
        self.passages, self.vectors, self.starts = passages, vectors, starts
        self.tokens_at_once = tokens_at_once

    def find_best(self, query: str, k: int, encoder: TokenEncoder) -> list[Passage]:
        """The best k passages, or all if there are fewer. Passages with equal scores stay in their own order."""
        if not self.passages:
            return []
        scores = self.compute_scores(encoder.encode_question(query))
        return [copy_with_score(self.passages[i], scores[i]) for i in np.argsort(-scores, kind="stable")[:k]]

    def compute_scores(self, question: NDArray[np.float32]) -> NDArray[np.float32]:
        """For each passage: the sum, over the question's tokens, of the best inner product with one of its tokens.

        `question`: (tokens, dimension). A passage without tokens scores below all others.
        """
        best_scores = np.full(len(self.passages), -np.inf, dtype=np.float32)
        with_tokens = np.flatnonzero(np.diff(self.starts))  # the passages that have tokens
        first = 0
        while first < len(with_tokens):
            begin = self.starts[with_tokens[first]]
            last = max(
                int(np.searchsorted(self.starts[with_tokens + 1], begin + self.tokens_at_once, side="right")), first + 1
            )
            block_passages = with_tokens[first:last]
            block = self.vectors[begin : self.starts[block_passages[-1] + 1]].astype(np.float32)
            best = np.maximum.reduceat(question @ block.T, self.starts[block_passages] - begin, axis=1)
            best_scores[block_passages] = best.sum(axis=0)
            first = last
        lowest = best_scores[with_tokens].min() - 1 if len(with_tokens) else 0
        return np.where(np.isneginf(best_scores), np.float32(lowest), best_scores)
