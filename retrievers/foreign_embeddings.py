"""The embeddings that search another program's collection: those that Chroma has recorded for it, or the user's."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from langchain_core.embeddings import Embeddings

from quorum.core.errors import SetupError
from quorum.models import get_embedding_name
from quorum.models.vectors import embed_texts
from quorum.retrievers.embedder import get_embedder
from quorum.retrievers.metadata import OTHER_PROGRAM, CollectionInfo

if TYPE_CHECKING:
    from quorum.retrievers.store import Store

LOG = logging.getLogger("quorum")
# Of a stored vector and the text's. A model rounded to 8 bits must pass: the embedded encoder and its float weights
# gave 0.96 and more, with passages and questions 0.985 and more.
LEAST_COSINE = 0.9


def choose_embeddings(store: "Store", name: str, setting: str | Embeddings) -> str | Embeddings:
    """The embeddings that search a collection: those of the setting; for another program's collection those that Chroma
    has recorded, if the setting is the default.

    Raises `SetupError` if the collection was made with others. The call blocks.
    """
    key = name, get_embedding_name(setting)
    if key in store.checked_embeddings:
        return setting
    if (known := store.foreign_embeddings.get(key)) is not None:
        return known
    info = store.fetch_info(name)
    if info.made_for != OTHER_PROGRAM:
        store.check_embedding(name, key[1])
        return setting
    chosen = info.embedding if setting == "embedded" and info.embedding else setting
    texts, vectors = store.fetch_checked_texts(name)
    if texts:
        check_vectors_of_model(name, info, chosen, get_embedder(chosen), texts, vectors)
        store.foreign_embeddings[key] = chosen
    return chosen


def check_vectors_of_model(
    name: str, info: CollectionInfo, spec: str | Embeddings, model: Embeddings, texts: Sequence[str], vectors: Any
) -> None:
    """Raise `SetupError` if the model gives other vectors than those stored with these texts of the collection `name`.

    So the vectors of another model of the same size, which would find random passages, are noticed.
    """
    embedding = spec if isinstance(spec, str) else get_embedding_name(spec)
    remedy = (
        "give those that it was made with: --embeddings SPEC, or search it by its words alone: --retriever bm25"
        if not info.embedding
        else f"Chroma has recorded {info.embedding!r} for it: leave --embeddings out, or give these"
    )
    made = np.asarray(embed_texts(model, list(texts)), dtype=np.float64)
    stored = np.asarray(vectors, dtype=np.float64)
    if made.shape[1] != stored.shape[1]:
        raise SetupError(
            f"The collection {name!r} holds vectors of {stored.shape[1]} numbers, but the embeddings {embedding!r} "
            f"give {made.shape[1]}; {remedy}."
        )
    lengths = np.linalg.norm(made, axis=1) * np.linalg.norm(stored, axis=1)
    cosines = (made * stored).sum(axis=1) / np.where(lengths > 0, lengths, 1)
    cosine = float(np.median(cosines))
    if cosine < LEAST_COSINE:
        raise SetupError(
            f"The collection {name!r} was made with other embeddings than {embedding!r}: their vectors of its own "
            f"texts have a cosine of {cosine:.2f} with the stored ones; {remedy}."
        )
    if spec == "embedded" and info.embedding == "embedded":
        LOG.warning(
            "The collection %s was made with Chroma's default embeddings, all-MiniLM-L6-v2; it is searched with the "
            "embedded encoder, which has the same weights, rounded to 8 bits.",
            name,
        )
