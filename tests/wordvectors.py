"""Embeddings for tests: a bag of hashed words, the same in every process."""

import hashlib

from langchain_core.embeddings import Embeddings


class WordVectors(Embeddings):
    """Normalised counts of words in `dimension` bins.

    model: the model's name; a collection stores it. embedded_count: how many documents were embedded so far.
    """

    def __init__(self, dimension: int = 64, model: str = "words") -> None:
        self.dimension, self.model, self.embedded_count = dimension, model, 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded_count += len(texts)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        counts = [0.01] * self.dimension  # above 0: the vector of an empty text must not have the length 0
        for word in text.lower().split():
            counts[int(hashlib.md5(word.strip(".,?!").encode()).hexdigest(), 16) % self.dimension] += 1.0
        length = sum(count * count for count in counts) ** 0.5
        return [count / length for count in counts]
