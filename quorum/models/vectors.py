"""Checks the vectors that a model or a server gives, before they are stored or searched with."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from quorum.core.errors import CallError
from quorum.models.embedding_batches import embed_in_batches, find_sizes


def check_vectors(vectors: Any, count: int, subject: str, size: int | None = None) -> list[list[float]]:
    """The vectors as lists of floats. Raises CallError unless they are `count` vectors of one size, made of finite
    numbers, and none of them zero.

    subject: what gave them, as the error names it; size: how many numbers each must have, if that is known.

    >>> check_vectors([[1, 0], [0.5, 0.5]], 2, "The model")
    [[1.0, 0.0], [0.5, 0.5]]
    """
    try:
        given = len(vectors)
        sizes = [len(vector) for vector in vectors]
    except TypeError:  # null in place of the list or of a vector, or no list at all
        raise make_error(subject, "gave no vector for a text") from None
    if given != count:
        raise make_error(subject, f"gave {given} vectors for {count} texts")
    wanted_size = sizes[0] if size is None and sizes else size
    if wanted_size == 0:
        raise make_error(subject, "gave an empty vector")
    if wrong_sizes := [one for one in sizes if one != wanted_size]:
        raise make_error(subject, f"gave a vector of {wrong_sizes[0]} numbers beside vectors of {wanted_size}")
    try:
        numbers = np.asarray(vectors, dtype=np.float64).reshape(count, wanted_size or 0)
    except (TypeError, ValueError):
        raise make_error(subject, "gave a vector with something else than numbers in it") from None
    if not np.isfinite(numbers).all() or (np.abs(numbers) > np.finfo(np.float32).max).any():
        raise make_error(subject, "gave a vector with a number that is not finite (NaN, infinite or null)")
    if count and not numbers.any(axis=1).all():
        raise make_error(subject, "gave a vector of zeros, which is near to nothing")
    listed: list[list[float]] = numbers.tolist()
    return listed


def make_error(subject: str, fault: str) -> CallError:
    return CallError(
        f"{subject} {fault}; nothing of this batch was stored or searched: check the server or the model, then run the "
        "command again."
    )


def embed_texts(model: Embeddings, texts: Sequence[str], size: int | None = None) -> list[list[float]]:
    """The checked vectors of texts, in requests that the model's server takes. size: the size that is expected, if it
    is known. Raises TextsRefused if the server refuses some of the texts for good.
    """
    subject = describe_model(model)

    def embed(batch: list[str]) -> list[list[float]]:
        return check_vectors(model.embed_documents(batch), len(batch), subject, size)

    # The embeddings of a spec are split where they are sent; here, those of an object of the user's own.
    return embed(list(texts)) if is_split(model) else embed_in_batches(embed, texts, find_sizes(model), subject)


def is_split(model: Embeddings) -> bool:
    """Whether the model splits its texts itself, as Quorum's own do."""
    return type(model).__module__.startswith("quorum.")


def embed_question(model: Embeddings, text: str) -> list[float]:
    """The checked vector of a question."""
    return check_vectors([model.embed_query(text)], 1, describe_model(model))[0]


async def embed_question_async(model: Embeddings, text: str) -> list[float]:
    """The checked vector of a question, by the model's own asynchronous method."""
    return check_vectors([await model.aembed_query(text)], 1, describe_model(model))[0]


def describe_model(model: Embeddings) -> str:
    """How an error names a model of embeddings."""
    name = getattr(model, "model", None) or getattr(model, "model_name", None)
    return f"The embeddings {name!r}" if isinstance(name, str) else f"The embeddings {type(model).__name__}"
