"""Computes how similar passages are to a text, by their embeddings."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from quorum.core.state import Passage
from quorum.models.vectors import check_vectors, describe_model, embed_question_async
from quorum.retrievers.embedder import get_embedder
from quorum.retrievers.passages import make_indexed_text

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings


async def compute_similarities(
    query: str, passages: Sequence[Passage], embeddings: "str | Embeddings", batch: int | None = None
) -> list[float]:
    """The cosine, from -1 to 1, of the query and each passage. A passage is embedded as in a collection. batch: the
    setting embedding_batch.

    Raises SetupError for embeddings that cannot be used, CallError when their server failed.
    """
    if not passages:
        return []
    model = await asyncio.to_thread(get_embedder, embeddings, batch)
    texts = [make_indexed_text(passage) for passage in passages]
    query_vector, vectors = await asyncio.gather(embed_question_async(model, query), model.aembed_documents(texts))
    passage_vectors = check_vectors(vectors, len(texts), describe_model(model), len(query_vector))
    return [compute_cosine(query_vector, vector) for vector in passage_vectors]


def compute_cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """The cosine of two vectors; 0 if one of them is the zero vector."""
    import numpy as np

    left_vector, right_vector = np.asarray(left, np.float64), np.asarray(right, np.float64)
    norm_product = float(np.linalg.norm(left_vector) * np.linalg.norm(right_vector))
    return float(left_vector @ right_vector) / norm_product if norm_product else 0.0
