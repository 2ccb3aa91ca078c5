"""Counts requests for embeddings and their tokens."""

import threading
from collections.abc import Callable, Mapping

REQUEST_KEYS = ("requests", "tokens")
EmbeddingUsage = dict[str, dict[str, int]]  # by the spec of the embeddings, the counts under REQUEST_KEYS


class EmbeddingCounts:
    """A payer (`quorum.models.embedding_requests`) that only counts. usage: by the spec of the embeddings."""

    def __init__(self) -> None:
        self.usage: EmbeddingUsage = {}
        self.lock = threading.Lock()

    def begin_request(self, model: str, tokens: int) -> Callable[[int], None]:
        return lambda taken: self.add_requests({model: {"requests": 1, "tokens": taken}}) if taken else None

    def add_requests(self, usage: Mapping[str, Mapping[str, int]]) -> None:
        with self.lock:
            self.usage = merge_embeddings(self.usage, usage)


def merge_embeddings(one: Mapping[str, Mapping[str, int]], other: Mapping[str, Mapping[str, int]]) -> EmbeddingUsage:
    """Both counts together.

    >>> merge_embeddings({"openai:a": {"requests": 1, "tokens": 5}}, {"openai:a": {"requests": 1, "tokens": 2}})
    {'openai:a': {'requests': 2, 'tokens': 7}}
    """
    empty = dict.fromkeys(REQUEST_KEYS, 0)
    return {
        model: {key: one.get(model, empty)[key] + other.get(model, empty)[key] for key in REQUEST_KEYS}
        for model in {**one, **other}
    }
