"""Late interaction (Khattab and Zaharia 2020, ColBERT, section 3): MaxSim over the token vectors of all passages.

The search is exact: it compares every token of the question with every token of the collection, without an index of
centroids. That takes about a second of processor time for ten thousand passages of a hundred words. A token vector has
16 bits per number.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.core.state import Passage
from quorum.models.token_embeddings import TokenEncoder
from quorum.retrievers.passages import copy_with_score

Vectors = NDArray[np.float16]
TOKENS_AT_ONCE = 1 << 16  # about this many tokens of passages are compared at once, to limit memory


class ChosenRows:
    """Some rows of vectors, which are copied only where they are read."""

    def __init__(self, vectors: "Vectors | ChosenRows", rows: NDArray[np.int64]) -> None:
        self.vectors, self.rows = vectors, rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: Any) -> Vectors:
        read: Vectors = self.vectors[self.rows[part]]
        return read


class TokenIndex:
    """Passages and their token vectors: rows starts[i] to starts[i + 1] of `vectors` are those of passage i."""

    def __init__(
        self,
        passages: Sequence[Passage],
        vectors: "Vectors | ChosenRows",
        starts: NDArray[np.int64],
        tokens_at_once: int = TOKENS_AT_ONCE,
    ) -> None:
        if len(starts) != len(passages) + 1 or starts[-1] != len(vectors):
            raise ValueError("passages, vectors and starts do not belong together")
        self.passages, self.vectors, self.starts = passages, vectors, starts
        self.tokens_at_once = tokens_at_once

    def find_best(
        self, query: str, k: int, encoder: TokenEncoder, within: frozenset[str] | None = None
    ) -> list[Passage]:
        """The best k passages, or all if there are fewer. Passages with equal scores stay in their own order.

        within: ids of the passages among which to search; None: all.
        """
        chosen = [i for i, passage in enumerate(self.passages) if within is None or passage["id"] in within]
        if not chosen:
            return []
        index = self if within is None else self.select(chosen)
        scores = index.compute_scores(encoder.encode_question(query))
        return [copy_with_score(index.passages[i], scores[i]) for i in np.argsort(-scores, kind="stable")[:k]]

    def select(self, chosen: Sequence[int]) -> "TokenIndex":
        """An index of some of the passages, whose vectors are read one block after the other."""
        lengths = np.diff(self.starts)[list(chosen)]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rows = np.repeat(self.starts[list(chosen)] - starts[:-1], lengths) + np.arange(starts[-1])
        return TokenIndex(
            [self.passages[i] for i in chosen], ChosenRows(self.vectors, rows), starts, self.tokens_at_once
        )

    def compute_scores(self, question_vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """For each passage: the sum, over the question's tokens, of the best inner product with a token of the passage.

        `question_vectors`: (tokens of the question, dimension). A passage without tokens scores below all others.
        """
        scores = np.full(len(self.passages), -np.inf, dtype=np.float32)
        with_tokens = np.flatnonzero(np.diff(self.starts))  # the indexes of the passages that have tokens
        block_start = 0  # the passages with_tokens[block_start:block_end] are scored together
        while block_start < len(with_tokens):
            first_row = self.starts[with_tokens[block_start]]
            block_end = max(
                int(np.searchsorted(self.starts[with_tokens + 1], first_row + self.tokens_at_once, side="right")),
                block_start + 1,
            )
            block_passages = with_tokens[block_start:block_end]
            block_vectors = self.vectors[first_row : self.starts[block_passages[-1] + 1]].astype(np.float32)
            best_products = np.maximum.reduceat(
                question_vectors @ block_vectors.T, self.starts[block_passages] - first_row, axis=1
            )
            scores[block_passages] = best_products.sum(axis=0)
            block_start = block_end
        lowest = scores[with_tokens].min() - 1 if len(with_tokens) else 0
        return np.where(np.isneginf(scores), np.float32(lowest), scores)
